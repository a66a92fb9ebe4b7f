"use strict";
// Draws the figures and tells of each individual. Without it the page has its text, and images of
// most figures.

const PAGE = 25;
const COLUMNS = ["individual", "outcome", "speed_up", "low", "high", "generation", "origin", "parents", "genotype"];
const byId = (id) => document.getElementById(id);
const drawn = [];

function element(name, text, attributes) {
  const made = Object.assign(document.createElement(name), attributes || {});
  if (text !== undefined) made.textContent = text;
  return made;
}

function draw(id, option) {
  const place = byId(id);
  if (!place) return null;
  const chart = echarts.init(place);
  chart.setOption(option);
  drawn.push(chart);
  return chart;
}

// -- the individuals -------------------------------------------------------------------------

async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

function summed(steps) {
  let sum = 0;
  return steps.map((step) => (sum += step));
}

class Run {
  constructor(data) {
    Object.assign(this, data);
    const columns = data.columns, unit = 10 ** data.digits;
    columns.individual = summed(columns.individual);
    columns.generation = summed(columns.generation);
    for (const name of ["speed_up", "low", "high"])
      columns[name] = columns[name].map((one) => (one === null ? null : one / unit));
    this.count = columns.individual.length;
    this.at = new Map(columns.individual.map((one, at) => [one, at]));
  }
  outcome(at) {
    const found = this.columns.outcome[at];
    return found < 0 ? "pending" : this.outcomes[found];
  }
  genotype(at) {
    const found = this.columns.genotype[at];
    return found === null ? null : found.map((one) => this.changes[one]);
  }
  row(at) {
    const { individual, generation, origin, parents, speed_up, low, high, message } = this.columns;
    const changes = this.genotype(at);
    return {
      individual: individual[at], generation: generation[at], origin: this.origins[origin[at]],
      parents: parents[at].map((one) => individual[at] - one), outcome: this.outcome(at),
      speed_up: speed_up[at], low: low[at], high: high[at],
      genotype: changes === null ? null : changes.join(" "), message: this.messages[message[at]],
    };
  }
}

const shown = (value) => (value === null ? "" : value.toFixed(3));

// -- every individual as a dot ---------------------------------------------------------------

function dots(run, colours, choose) {
  const { individual, speed_up } = run.columns;
  const rows = new Map(), failed = [];
  let least = Infinity, most = 0;
  for (let at = 0; at < run.count; at++) {
    const outcome = run.outcome(at);
    if (!rows.has(outcome)) rows.set(outcome, []);
    rows.get(outcome).push(at);
    if (speed_up[at] === null) { if (!failed.includes(outcome)) failed.push(outcome); }
    else { least = Math.min(least, speed_up[at]); most = Math.max(most, speed_up[at]); }
  }
  const order = Object.keys(colours).concat("pending").filter((one) => rows.has(one));
  const lanes = order.filter((one) => failed.includes(one)).reverse();
  const height = 22 * lanes.length, wide = most / least > 8;
  const size = run.count > 10000 ? 3 : run.count > 1000 ? 4 : 7;
  const across = { type: "value", min: 0, max: individual[run.count - 1] + 1, minInterval: 1, splitLine: { show: false } };
  const series = order.map((outcome) => ({
    name: outcome, type: "scatter", symbolSize: size, large: run.count > 5000, largeThreshold: 5000,
    xAxisIndex: failed.includes(outcome) ? 1 : 0, yAxisIndex: failed.includes(outcome) ? 1 : 0,
    itemStyle: { color: colours[outcome] || "#999999" },
    data: rows.get(outcome).map((at) => [individual[at], failed.includes(outcome) ? outcome : speed_up[at]]),
  }));
  series.push({
    name: "reference", type: "line", data: [[0, 1], [individual[run.count - 1] + 1, 1]], symbol: "none", silent: true,
    lineStyle: { color: "#222222", width: 1, type: "dashed" }, itemStyle: { color: "#222222" },
  });
  series.push({
    name: "chosen", type: "scatter", data: [], symbolSize: 16, silent: true, z: 9,
    itemStyle: { color: "transparent", borderColor: "#000000", borderWidth: 2 },
  });
  const chart = draw("dots", {
    animation: false, textStyle: { fontFamily: "system-ui, sans-serif" },
    aria: { enabled: true },
    legend: { top: 0, left: 0, type: "scroll", data: order },
    grid: [{ left: 62, right: 18, top: 40, bottom: height + 56 }, { left: 62, right: 18, height, bottom: 48 }],
    xAxis: [{ ...across, axisLabel: { show: false }, axisTick: { show: false } },
      { ...across, gridIndex: 1, name: "individual", nameLocation: "middle", nameGap: 28 }],
    yAxis: [{ type: wide ? "log" : "value", logBase: 2, scale: true, name: "speed-up", nameLocation: "middle", nameGap: 44,
      axisLabel: { formatter: (one) => String(+one.toPrecision(3)) } },
      { type: "category", gridIndex: 1, data: lanes, axisTick: { show: false }, axisLine: { show: false } }],
    dataZoom: [{ type: "inside", xAxisIndex: [0, 1], zoomOnMouseWheel: "ctrl", moveOnMouseMove: false }],
    tooltip: {
      trigger: "item", confine: true,
      formatter: (one) => {
        const row = run.row(rows.get(one.seriesName)[one.dataIndex]);
        return `${row.individual}: ${row.outcome} ${shown(row.speed_up)}`;
      },
    },
    series,
  });
  chart.on("click", (one) => { if (rows.has(one.seriesName)) choose(rows.get(one.seriesName)[one.dataIndex]); });
  return (at) => {
    const lane = failed.includes(run.outcome(at));
    chart.setOption({ series: [{ name: "chosen", xAxisIndex: +lane, yAxisIndex: +lane,
      data: [[individual[at], lane ? run.outcome(at) : speed_up[at]]] }] });
  };
}

// -- one individual --------------------------------------------------------------------------

function link(ident) {
  return element("a", String(ident), { href: `#i${ident}` });
}

function changeItem(run, change) {
  const item = element("li"), sentence = run.sentences[change];
  if (sentence) item.append(sentence, element("br"));
  item.append(element("code", change));
  for (const [, name] of change.matchAll(/<([^>]*)>/g)) {
    const rule = run.rules[name];
    if (rule && rule[1]) item.append(element("br"), `${rule[0]} `, element("code", rule[1]));
  }
  return item;
}

function inWords(run, at) {
  const whole = element("details");
  const words = run.genotype(at).map((one) => run.sentences[one] || one);
  whole.append(element("summary", words.join("; ")), element("code", run.row(at).genotype));
  return whole;
}

function diffOf(text) {
  const pre = element("pre", undefined, { className: "diff" });
  for (const line of text.replace(/\n$/, "").split("\n")) {
    const heading = line.startsWith("+++ ") || line.startsWith("--- ");
    const kind = heading ? "file" : { "+": "plus", "-": "minus", "@": "at" }[line[0]] || "";
    pre.append(element("span", line || " ", { className: kind }));
  }
  return pre;
}

function tell(run, at) {
  const row = run.row(at), box = byId("detail"), changes = run.genotype(at);
  box.replaceChildren(element("h3", `Individual ${row.individual}: ${row.outcome}`));
  const facts = element("p", `generation ${row.generation}, ${row.origin}`);
  row.parents.forEach((one, n) => facts.append(n ? " and " : " of ", link(one)));
  if (row.speed_up !== null)
    facts.append(`; ${shown(row.speed_up)} on the train cases, 95 % interval [${shown(row.low)}, ${shown(row.high)}]`);
  box.append(facts);
  if (row.message) box.append(element("pre", row.message));
  if (changes === null) box.append(element("p", "Its changes are left out of this page."));
  else if (!changes.length) box.append(element("p", "It changes nothing."));
  else {
    const list = element("ul");
    changes.forEach((one) => list.append(changeItem(run, one)));
    box.append(list);
  }
  const diff = run.diffs[row.individual];
  if (diff) box.append(diffOf(diff));
  else {
    const note = element("p", "Its diff: ", { className: "note" });
    note.append(element("code", `gi-cuda show ${run.run} --individual ${row.individual}`));
    box.append(note);
  }
}

// -- the table -------------------------------------------------------------------------------

function table(run, choose) {
  const head = byId("table").tHead, body = byId("table").tBodies[0];
  let order = [], column = "low", down = true, page = 0;
  const titles = element("tr"), buttons = new Map();
  for (const name of COLUMNS) {
    const button = element("button", name.replace("_", "-"), { type: "button" });
    buttons.set(name, button);
    button.onclick = () => { down = column === name ? !down : ["speed_up", "low", "high"].includes(name); column = name; arrange(); };
    const cell = element("th");
    cell.append(button);
    titles.append(cell);
  }
  head.replaceChildren(titles);
  for (const one of new Set(run.columns.outcome.map((_, at) => run.outcome(at)))) byId("only").append(element("option", one, { value: one }));

  function arrange() {
    const only = byId("only").value, text = byId("text").value.trim();
    order = [];
    for (let at = 0; at < run.count; at++) {
      if (only && run.outcome(at) !== only) continue;
      if (text && !(run.messages[run.columns.message[at]].includes(text) || (run.genotype(at) || []).join(" ").includes(text))) continue;
      order.push(at);
    }
    const keys = order.map((at) => run.row(at)[column]);
    const places = order.map((_, place) => place);
    const rank = (one) => (one === null || one === "");
    const compare = (a, b) => (Array.isArray(a) ? (a[0] || 0) - (b[0] || 0) : a < b ? -1 : a > b ? 1 : 0);
    places.sort((a, b) => rank(keys[a]) - rank(keys[b]) || (down ? -1 : 1) * compare(keys[a], keys[b]) || a - b);
    order = places.map((place) => order[place]);
    for (const [name, button] of buttons)
      button.textContent = name.replace("_", "-") + (name !== column ? "" : down ? " ▾" : " ▴");
    page = 0;
    fill();
  }
  function fill() {
    body.replaceChildren();
    for (const at of order.slice(page * PAGE, (page + 1) * PAGE)) {
      const row = run.row(at), line = element("tr");
      for (const name of COLUMNS) {
        const value = row[name];
        const number = ["speed_up", "low", "high"].includes(name);
        const cell = element("td", number ? shown(value) : Array.isArray(value) ? value.join(", ") : value === null ? "" : value);
        if (typeof value === "number") cell.className = "n";
        if (name === "genotype" && value) cell.replaceChildren(inWords(run, at));
        line.append(cell);
      }
      line.onclick = () => choose(at);
      body.append(line);
    }
    const pages = Math.max(1, Math.ceil(order.length / PAGE));
    const back = element("button", "before", { type: "button", disabled: page === 0, onclick: () => { page--; fill(); } });
    const next = element("button", "next", { type: "button", disabled: page + 1 >= pages, onclick: () => { page++; fill(); } });
    byId("pages").replaceChildren(back, ` page ${page + 1} of ${pages}, ${order.length} individuals `, next);
  }
  const quoted = (one) => { const text = Array.isArray(one) ? one.join(" ") : String(one ?? ""); return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text; };
  byId("only").onchange = byId("text").oninput = arrange;
  byId("csv").onclick = () => {
    const names = [...COLUMNS, "message"];
    const lines = order.map((at) => { const row = run.row(at); return names.map((name) => quoted(row[name])).join(","); });
    save("individuals.csv", "text/csv", [names.join(","), ...lines].join("\n") + "\n");
  };
  byId("json").onclick = () => save("individuals.json", "application/json", JSON.stringify(order.map((at) => run.row(at)), null, 1));
  arrange();
}

function save(name, type, text) {
  const made = element("a", undefined, { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  made.click();
  setTimeout(() => URL.revokeObjectURL(made.href), 10000);
}

// -- all of it -------------------------------------------------------------------------------

async function start() {
  const charts = JSON.parse(byId("charts").textContent);
  for (const [id, option] of Object.entries(charts.options)) draw(id, option);
  if (byId("payload")) {
    const run = new Run(await unpack(byId("payload").textContent));
    let mark = () => {};
    const follow = () => {
      const at = run.at.get(Number(location.hash.replace("#i", "")));
      if (location.hash.startsWith("#i") && at !== undefined) { tell(run, at); mark(at); }
    };
    const choose = (at) => {
      history.replaceState(null, "", `#i${run.columns.individual[at]}`);
      follow();
      byId("detail").scrollIntoView({ block: "nearest" });
    };
    if (run.count) {
      mark = dots(run, charts.colours, choose);
      table(run, choose);
      addEventListener("hashchange", follow);
      follow();
    }
    globalThis.page = { run, choose };
  }
  const open = () => {
    const run = location.hash.startsWith("#run") && byId(location.hash.slice(1));
    if (run) run.open = true;
  };
  addEventListener("hashchange", open);
  open();
  addEventListener("resize", () => drawn.forEach((one) => one.resize()));
  document.documentElement.dataset.ready = "yes";
}

// After the first paint: the text is there to be read meanwhile.
requestAnimationFrame(() => setTimeout(start));
