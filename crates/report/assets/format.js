'use strict';
// How figures are written: three significant digits and a unit, as in the tables. Those are written
// by Rust, which takes the even one of two neighbors that are equally near.

const WHOLE = new Intl.NumberFormat('en-GB', {
  maximumFractionDigits: 0, roundingMode: 'halfEven',
});

// Digits enough to write any figure out exactly as it is held: behind them are only zeros.
const EXACTLY = 60;

function threeDigits(value) {
  const digits = value.toPrecision(EXACTLY).replace(/^-?[0.]*/, '').replace('.', '');
  const between = /^\d\d[02468]50*$/.test(digits);
  return (between ? value * (1 - Number.EPSILON) : value).toPrecision(3);
}

function number(value) {
  if (value === 0 || !Number.isFinite(value)) return String(value);
  if (Math.abs(value) >= 100) return WHOLE.format(value);
  const text = threeDigits(value);
  return text.includes('e') ? String(Number(text)) : text;
}

function scaled(value, units) {
  const fits = units.find(([factor], index) => {
    const next = units[index + 1];
    // Half a unit below 1,000 or 1,024 would be written as that.
    return !next || Math.abs(value) / factor < next[0] / factor - 0.5;
  });
  return [value / fits[0], fits[1]];
}

const TIMES = [[1, 'ns'], [1e3, 'µs'], [1e6, 'ms'], [1e9, 's']];
const SIZES = [[1, 'B'], [1024, 'KiB'], [1024 ** 2, 'MiB'], [1024 ** 3, 'GiB'], [1024 ** 4, 'TiB']];

function withUnit(value, units, write) {
  const [figure, unit] = scaled(value, units);
  const whole = unit === units[0][1] && Number.isInteger(figure);
  return `${whole ? figure : write(figure)} ${unit}`;
}

const WRITE = {
  number,
  per_second: (value) => `${number(value)}/s`,
  seconds: (value) => (value < 1 ? withUnit(value * 1e9, TIMES, number) : `${number(value)} s`),
  nanoseconds: (value) => withUnit(value, TIMES, number),
  bytes: (value) => withUnit(value, SIZES, number),
  percentile: (value) => (value === 100 ? 'max' : `${value} %`),
};

// A cell's text as something to sort by: a figure in its smallest unit, or the text.
const FACTORS = {
  ns: 1, 'µs': 1e3, ms: 1e6, s: 1e9, B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3,
  TiB: 1024 ** 4,
};

// A time as 1:29:25.67, 19:33.07 or 2:49:11: hours where there are any, minutes and seconds.
const CLOCK = /^(?:(\d+):)?(\d+):(\d\d(?:\.\d+)?)(?![\d:.])/;

function sortKey(text) {
  const plain = text.replaceAll(',', '').trim();
  const clock = CLOCK.exec(plain);
  if (clock) {
    const [hours, minutes, seconds] = clock.slice(1).map((part) => Number(part ?? 0));
    return (hours * 3600 + minutes * 60 + seconds) * FACTORS.s;
  }
  const match = /^(-?[\d.]+(?:e-?\d+)?)\s*([^\d\s(–]*)/.exec(plain);
  if (!match || Number.isNaN(Number(match[1]))) return text.toLowerCase();
  return Number(match[1]) * (FACTORS[match[2]] ?? 1);
}
