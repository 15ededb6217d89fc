'use strict';
// How contenders are told apart: each has one colour, symbol and dashing in all charts of the page.

const COLOURS = 8;
const MOST_DRAWN = 40; // how many groups of a chart are drawn; the data has all
const TOLD_APART = ['bars', 'timeline', 'percentiles', 'scaling'];
// No circle: dots are what engines did. Two neighbours differ in all but the dashing, and no two of
// the first 48 are alike.
const SYMBOLS = ['square', 'triangle', 'diamond', 'cross', 'star', 'wye'];
const DASHES = [null, '6,3', '2,3', '9,3,2,3'];
const SYMBOL_RADIUS = 4;

function drawn(chart) {
  return chart.groups.slice(0, MOST_DRAWN);
}

// Each name's place: one that no name beside it in any chart has, and of those the first whose
// colour is the rarest in charts that have colours for all.
function placed(charts) {
  const together = charts.filter((chart) => TOLD_APART.includes(chart.kind))
    .map((chart) => drawn(chart).map((group) => group.name));
  const places = new Map();
  for (const name of together.flat()) {
    if (places.has(name)) continue;
    const beside = together.filter((names) => names.includes(name));
    const placesIn = (all) => all.flat().map((other) => places.get(other))
      .filter((place) => place !== undefined);
    const taken = new Set(placesIn(beside));
    const few = placesIn(beside.filter((names) => names.length <= COLOURS));
    const free = d3.range(taken.size + COLOURS).filter((place) => !taken.has(place));
    const alike = (place) => few.filter((other) => (other - place) % COLOURS === 0).length;
    places.set(name, d3.least(free, alike));
  }
  return places;
}

let places = null;

function placeOf(name) {
  places ??= placed(CHARTS);
  return places.get(name) ?? 0;
}

function colour(index) {
  return `var(--c${index % COLOURS})`;
}

// What a contender or series looks like in a chart.
function look(name) {
  const place = placeOf(name);
  return {
    name, colour: colour(place), symbol: SYMBOLS[place % SYMBOLS.length],
    dash: DASHES[Math.floor(place / 4) % DASHES.length],
  };
}

// A name that has no room keeps its beginning and its end: either may tell contenders apart.
function shortened(name, room) {
  const most = Math.max(3, Math.floor(room / 6.4));
  if (name.length <= most) return name;
  const end = Math.ceil((most - 1) / 2);
  return `${name.slice(0, most - 1 - end)}…${name.slice(-end)}`;
}
