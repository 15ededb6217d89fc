// Looks at pages in Chromium, for scripts/page-judges: MODULES PAGE...
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const [modules, ...pages] = process.argv.slice(2);
const load = createRequire(`${modules}/package.json`);
const puppeteer = load('puppeteer-core');
const axe = readFileSync(load.resolve('axe-core/axe.min.js'), 'utf8');

const SIZES = [{ width: 1280, height: 800 }, { width: 360, height: 740, isMobile: true }];
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

// What stands out of the page, frames that scroll aside, and texts of charts that are cut off.
function outside() {
  const scrolls = (one) => !['visible', 'clip'].includes(getComputedStyle(one).overflowX);
  const framed = (one) => one && one !== document.body
    && (scrolls(one) || framed(one.parentElement));
  const page = document.documentElement.scrollWidth - innerWidth;
  const seen = [...document.querySelectorAll('body *')].filter((one) => one.checkVisibility());
  const right = (one) => one.getBoundingClientRect().right - innerWidth;
  const out = seen.filter((one) => right(one) > 1 && !framed(one.parentElement));
  return [
    ...(page > 0 ? [`the page is ${page} px too wide`] : []),
    ...out.slice(0, 5).map((one) => `${one.tagName} stands out: ${one.textContent.slice(0, 60)}`),
  ];
}

async function violations(page) {
  await page.evaluate(axe);
  const found = await page.evaluate((tags) =>
    axe.run(document, { runOnly: tags }), RULES);
  return found.violations.map(({ id, help, nodes }) =>
    `axe ${id}: ${help} (${nodes.length}): ${nodes[0].html.slice(0, 200)}`);
}

async function look(browser, file, size, dark, scripts) {
  const page = await browser.newPage();
  const said = [];
  page.on('console', (message) => said.push(`console: ${message.text()}`));
  page.on('pageerror', (error) => said.push(`error: ${error}`));
  page.on('request', (request) => {
    if (!/^(file|data|blob):/.test(request.url())) said.push(`request: ${request.url()}`);
  });
  await page.setViewport(size);
  await page.setJavaScriptEnabled(scripts);
  const scheme = dark ? 'dark' : 'light';
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
  await page.goto(pathToFileURL(file).href);
  said.push(...await page.evaluate(outside));
  if (scripts) said.push(...await violations(page));
  // What is folded is judged too.
  await page.evaluate(() => {
    document.querySelectorAll('details').forEach((one) => { one.open = true; });
  });
  said.push(...await page.evaluate(outside));
  if (scripts) said.push(...await violations(page));
  await page.emulateMediaType('print');
  await page.setViewport({ width: 718, height: 1046 });
  said.push(...(await page.evaluate(outside)).map((one) => `on paper: ${one}`));
  await page.close();
  return said;
}

async function judge(browser, file) {
  let count = 0;
  for (const size of SIZES) {
    for (const dark of [false, true]) {
      for (const scripts of [true, false]) {
        const said = await look(browser, file, size, dark, scripts);
        const how = `${size.width} px, ${dark ? 'dark' : 'light'}${scripts ? '' : ', no script'}`;
        [...new Set(said)].forEach((one) => console.log(`${file} (${how}): ${one}`));
        count += said.length;
      }
    }
  }
  return count;
}

const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM, headless: true, args: ['--no-sandbox', '--disable-gpu'],
});
let count = 0;
for (const file of pages) count += await judge(browser, file);
await browser.close();
console.log(`${pages.length} pages, ${count} complaints`);
process.exitCode = count ? 1 : 0;
