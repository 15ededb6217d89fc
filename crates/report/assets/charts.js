'use strict';
// Charts are in the page already. Here they answer to a pointer: the nearest point of a line in
// words, and a line by itself where its name is clicked.

const CHARTS = JSON.parse(document.getElementById('charts').textContent);

const BESIDE_AREA = 60; // what the style sheet leaves beside the area of lines, pixels

function chartOf(figure) {
  return CHARTS[Number(figure.dataset.chart)];
}

function groupsOf(figure) {
  return [...figure.querySelectorAll('.drawing [data-group]')];
}

// The points of a group as parts of the area's width and height, with the rows that they show.
function pointsOf(group, rows) {
  const shown = rows.filter((row) => row[1] !== null);
  const marks = [...group.querySelectorAll('use')].map((mark) => ['x', 'y']
    .map((side) => parseFloat(mark.getAttribute(side)) / 100));
  if (marks.length === shown.length) return marks.map((at, index) => [...at, shown[index]]);
  // A line over time begins before its first row and ends after its last.
  const path = group.querySelector('path').getAttribute('d').match(/[\d.]+/g).map(Number);
  return shown.map((row, index) => [path[2 * index + 2] / 2000, path[2 * index + 3] / 2000, row]);
}

const IN_WORDS = {
  timeline: ([at, rate]) => `${WRITE.seconds(at)}: ${WRITE.per_second(rate)}`,
  latency_timeline: ([at, time]) => `${WRITE.seconds(at)}: ${WRITE.nanoseconds(time)}`,
  percentiles: ([at, time]) => `${WRITE.percentile(at)}: ${WRITE.nanoseconds(time)}`,
  scaling: ([workers, rate]) => `${workers} workers: ${WRITE.per_second(rate)}`,
};

// What is nearest to the pointer, in words.
function enablePointer(figure) {
  const chart = chartOf(figure);
  const words = IN_WORDS[chart.kind];
  const area = figure.querySelector('.area');
  if (!words || !area) return;
  const drawing = figure.querySelector('.drawing');
  let points = null;
  let tip = null;
  const hide = () => { if (tip) tip.hidden = true; };
  drawing.addEventListener('pointermove', (event) => {
    points ??= groupsOf(figure).flatMap((group) => {
      const { name, rows } = chart.groups[Number(group.dataset.group)];
      return pointsOf(group, rows).map(([x, y, row]) => ({ x, y, row, name, group }));
    });
    const frame = drawing.getBoundingClientRect();
    const width = frame.width - BESIDE_AREA;
    const [left, top, height] = ['x', 'y', 'height'].map((side) => Number(area.getAttribute(side)));
    const [x, y] = [event.clientX - frame.left, event.clientY - frame.top];
    const distance = (one) => Math.hypot(left + one.x * width - x, top + one.y * height - y);
    const seen = points.filter(({ group }) => group.checkVisibility() && !isFaint(group));
    const nearest = seen.reduce((best, one) =>
      (best && distance(best) <= distance(one) ? best : one), null);
    if (!nearest) return hide();
    tip ??= drawing.appendChild(element('div', { class: 'tip' }));
    tip.hidden = false;
    tip.textContent = `${nearest.name}\n${words(nearest.row)}`;
    const at = left + nearest.x * width;
    tip.style.left = `${Math.max(0, Math.min(at + 8, frame.width - tip.offsetWidth))}px`;
    tip.style.top = `${top + nearest.y * height + 10}px`;
    return undefined;
  });
  drawing.addEventListener('pointerleave', hide);
}

function isFaint(group) {
  return group.classList.contains('faint');
}

// Names of lines become buttons: one click leaves that line alone, another brings back all.
function enableIsolation(figure) {
  const entries = [...figure.querySelectorAll('.legend li[data-group]')];
  if (entries.length < 2) return;
  const buttons = entries.map((entry) => {
    const label = `Only ${entry.textContent} in ${chartOf(figure).name}`;
    const only = button('', label, () => {
      const alone = only.getAttribute('aria-pressed') !== 'true';
      buttons.forEach((other) =>
        other.setAttribute('aria-pressed', String(alone && other === only)));
      groupsOf(figure).forEach((group) => {
        group.classList.toggle('faint', alone && group.dataset.group !== entry.dataset.group);
      });
    });
    only.setAttribute('aria-pressed', 'false');
    only.append(...entry.childNodes);
    entry.append(only);
    return only;
  });
}
