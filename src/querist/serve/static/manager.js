// How a campaign goes, read again whenever it has new events; what its manager does about it.

import {
  $, Refusal, boxes, call, className, dot, drawn, element, markedIn, percent, some, start,
} from "./common.js";

const EVERY = 5_000; // milliseconds between looks at the campaign
const MAP_EVERY = 20_000; // milliseconds between drawings of the graph
const BUY = [10, 50, 100]; // answers more of which is told what they would bring

let campaign = start.campaign, seen = -1, mapSeen = -1, mapAt = 0, map = null;

// -- reading --------------------------------------------------------------------------------------------------

async function look(force = false) {
  try {
    campaign = await call("GET", "");
    showCampaign();
    const { last } = campaign;
    if (force || last !== seen) {
      // Shown together: what is below moves once, not while somebody aims at it.
      const [doubts, people] = await Promise.all([call("GET", "/doubts"), start.manager ? call("GET", "/people") : []]);
      showDoubts(doubts);
      if (start.manager) showPeople(people);
      seen = last; // only now: what failed half-way is read again
    }
    if (last !== mapSeen && Date.now() - mapAt > MAP_EVERY) {
      mapAt = Date.now();
      map = await call("GET", "/map");
      mapSeen = last;
      showMap();
    }
    fresh("saved", "Up to date");
  } catch (error) {
    const gone = error instanceof Refusal && !error.passes;
    fresh(gone ? "alarm" : "away", gone ? error.message : "Network away");
  }
}

function fresh(state, text) {
  $("fresh").dataset.state = state;
  if ($("fresh").textContent !== text) $("fresh").textContent = text;
}

/** Do something at the server and look again; what it refuses is told. */
async function change(work, said) {
  try {
    const reply = await work();
    $("notice").hidden = true;
    $("said").textContent = said;
    await look(true);
    return reply;
  } catch (error) {
    tell(error instanceof Refusal ? error.message : "The network is away: nothing was changed.");
    return null;
  }
}

function tell(text) {
  $("notice").hidden = false;
  $("notice").textContent = text;
  $("notice").scrollIntoView({ block: "nearest" });
}

// -- progress -------------------------------------------------------------------------------------------------

function showCampaign() {
  const { asked, budget, unanswered, open, nodes, edges, audit, find = null, expected_accuracy: expected } = campaign;
  $("state").textContent = campaign.paused
    ? "Paused: nobody is given a question."
    : campaign.stopped || `Running on ${some(nodes, "node")} and ${some(edges, "edge")}${find === null ? "" : `, looking for ${find}`}.`;
  const numbers = [
    [asked.toLocaleString("en"), "answers", `of a budget of ${budget.toLocaleString("en")}`],
    ...(expected === null ? [] : [[percent(expected, 1), "expected accuracy", "of all labels, by model and audit"]]),
    [audit?.answered ? percent(audit.accuracy, 1) : "–", "audited accuracy", audited(audit)],
    [open.toLocaleString("en"), "open questions", "with people now"],
    [unanswered.toLocaleString("en"), "unanswered", "skipped or unsure"],
  ];
  $("headline").replaceChildren(
    ...numbers.map(([number, what, more]) =>
      element("div", {}, element("dt", {}, what),
        element("dd", {}, element("strong", {}, number), element("span", {}, more)))),
  );
  $("headline").firstChild.append(
    element("dd", {}, element("progress", { max: 1, value: budget ? Math.min(1, asked / budget) : 0, "aria-label": "answers of the budget" })),
  );
  if (start.manager) {
    $("pause").textContent = campaign.paused ? "Go on" : "Pause";
    if (!$("options").contains(document.activeElement)) showOptions();
  }
  showCurve(campaign.curve ?? []);
}

function audited(audit) {
  if (!audit?.answered) return "no random question answered";
  const [low, high] = audit.interval;
  return `95 % interval ${percent(low, 1)} to ${percent(high, 1)}, ${some(audit.answered, "random question")}`;
}

/** Expected accuracy after so many answers; between points as on the line, beyond the last unknown. */
function expectedAt(curve, answers) {
  const after = curve.findIndex(([x]) => x >= answers);
  if (after < 0) return null;
  const [x1, y1] = curve[after];
  if (x1 === answers || after === 0) return x1 === answers ? y1 : null;
  const [x0, y0] = curve[after - 1];
  return y0 + ((y1 - y0) * (answers - x0)) / (x1 - x0);
}

/** The points so far and, as error usually falls by a power of the answers, where the last half leads to. */
function prolonged(curve, asked, budget) {
  const last = curve.filter(([x, y]) => x > 0 && x >= asked / 2 && y < 1);
  if (last.length < 4) return curve;
  const logs = last.map(([x, y]) => [Math.log(x), Math.log(1 - y)]);
  const mean = [0, 1].map((k) => logs.reduce((sum, each) => sum + each[k], 0) / logs.length);
  const spread = logs.reduce((sum, [a]) => sum + (a - mean[0]) ** 2, 0);
  const slope = spread && logs.reduce((sum, [a, b]) => sum + (a - mean[0]) * (b - mean[1]), 0) / spread;
  const [from, y] = last.at(-1), far = Math.max(budget, asked + BUY.at(-1));
  // More answers do no harm, whatever the last ones seem to say.
  const at = (x) => 1 - (1 - y) * (x / from) ** Math.min(0, slope);
  return [...curve, ...Array.from({ length: 20 }, (_, k) => from + ((far - from) * (k + 1)) / 20).map((x) => [x, at(x)])];
}

function showCurve(points) {
  // What was learned last counts where an answer was taken back and given again.
  const past = [...new Map(points)].filter(([x]) => x <= campaign.asked).sort(([a], [b]) => a - b);
  const curve = prolonged(past, campaign.asked, campaign.budget);
  const now = expectedAt(curve, campaign.asked) ?? campaign.expected_accuracy;
  const gains = BUY.map((more) => [more, expectedAt(curve, campaign.asked + more)]).filter(([, y]) => y !== null && now !== null);
  const gain = (y) => `${y < now ? "" : "+"}${(100 * (y - now)).toFixed(1)} points`;
  $("buy").textContent = gains.length
    ? `If it goes on as in the last half of the answers: ${gains.map(([more, y]) => `${gain(y)} with ${more} more answers`).join(", ")}.`
    : "Unknown: this takes random questions (an audit) and 30 other answers.";
  $("curve").replaceChildren(...(curve.length < 2 ? [] : [chart(curve, campaign.asked)]));
}

/** What the answers brought, as a line; what more would bring, dashed. */
function chart(curve, asked) {
  const width = 640, height = 260, left = 56, bottom = 40, top = 10, right = 14;
  const most = Math.max(...curve.map(([x]) => x), 1), low = Math.min(...curve.map(([, y]) => y));
  const floor = Math.max(0, Math.floor(5 * low) / 5);
  const x = (value) => left + ((width - left - right) * value) / most;
  const y = (value) => top + ((height - top - bottom) * (1 - value)) / (1 - floor || 1);
  const line = (points, look) =>
    drawn("path", { class: look, d: points.map(([a, b], i) => `${i ? "L" : "M"}${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join("") });
  const here = expectedAt(curve, asked);
  const middle = here === null ? [] : [[asked, here]];
  const parts = [];
  for (let share = floor; share <= 1.0001; share += floor < 0.5 ? 0.2 : 0.1)
    parts.push(drawn("path", { class: "grid", d: `M${left} ${y(share)}H${width - right}` }),
      drawn("text", { x: left - 6, y: y(share) + 4, "text-anchor": "end" }, percent(share)));
  const step = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 1e5].find((each) => most / each <= 6) ?? most;
  for (let value = 0; value <= most; value += step)
    parts.push(drawn("text", { x: x(value), y: height - bottom + 18, "text-anchor": "middle" }, value.toLocaleString("en")));
  parts.push(
    drawn("text", { x: (left + width) / 2, y: height - 2, "text-anchor": "middle" }, "answers"),
    line([...curve.filter(([a]) => a < asked), ...middle], "learned"),
    line([...middle, ...curve.filter(([a]) => a > asked)], "ahead"),
  );
  if (here !== null) parts.push(drawn("circle", { class: "now", cx: x(asked), cy: y(here), r: 5 }, drawn("title", {}, `now: ${percent(here, 1)}`)));
  const [first, last] = [curve[0], curve.at(-1)].map(([answers, share]) => `${percent(share)} at ${Math.round(answers)}`);
  const said = `Expected accuracy by answers: ${first}, ${here === null ? "" : `${percent(here)} now, `}${last}.`;
  return drawn("svg", { role: "img", "aria-label": said, viewBox: `0 0 ${width} ${height}` }, ...parts);
}

// -- people and doubts ----------------------------------------------------------------------------------------

function showPeople(people) {
  $("people").replaceChildren(
    ...people.map(({ person, name, answers, accuracy, interval, median_seconds: median, open }) =>
      element("tr", {}, element("th", { scope: "row" }, name || person),
        ...[answers, accuracy === null ? "" : percent(accuracy), interval ? `${percent(interval[0])} to ${percent(interval[1])}` : "",
          median === null || median === undefined ? "" : `${median.toFixed(1)} s`, open].map((each) => element("td", {}, String(each))),
        element("td", {}, !name || name === person || person === null ? ""
          : element("button", { type: "button", class: "button", "aria-label": `Erase name ${name}`, click: () => erase(person, name) }, "Erase name")))),
  );
}

/** Names live outside the log, and can go; the answers stay. */
async function erase(person, name) {
  if (!confirm(`Erase the name ${name}? The answers stay, under ${person}.`)) return;
  await change(() => call("DELETE", `/people/${encodeURIComponent(person)}/name`), `The name ${name} is erased`);
  await showTokens();
}

function showDoubts(doubts) {
  $("doubts-text").textContent = doubts.length
    ? `${some(doubts.length, "node")} whose answers disagree with each other, or with all around them.`
    : "Nothing waits for a verdict.";
  const focused = document.activeElement?.closest?.("#doubts li")?.dataset.row;
  // A list in which somebody is choosing stays as it is.
  if (focused && doubts.some(({ row }) => String(row) === focused)) return;
  $("doubts").replaceChildren(...doubts.map((doubt) => doubtItem(doubt)));
  // Whoever decides on one after another goes on with the next.
  if (focused) ($("doubts").querySelector("button") ?? $("doubts-title")).focus();
}

function doubtItem({ row, node, name, belief, votes }) {
  const texts = element("div", { class: "facts" });
  const more = element("details", { toggle: () => readNode(row, more, texts) }, element("summary", {}, "What it is"), texts);
  const said = votes.map(({ name, label }) =>
    element("li", {}, dot(label), `${className(label)} `, element("small", {}, `by ${name ?? "somebody"}`)));
  return element("li", { "data-row": row },
    element("h3", {}, name || String(node)),
    element("p", {}, `The model believes the likeliest class by ${percent(belief)}.`),
    element("ul", { class: "legend" }, ...said), more,
    start.manager ? verdictButtons(row, name || String(node), votes) : null);
}

/** Classes somebody said come first; the others are in a list. */
function verdictButtons(row, name, votes) {
  const said = [...new Map(votes.map(({ label }) => [String(label), label])).values()];
  const others = start.classes.map((_, code) => code).filter((code) => !said.includes(code));
  const decide = (label) => change(() => call("POST", "/verdicts", { body: { row, label } }), `${name} is ${className(label)}`);
  const choice = start.campaign.multilabel ? otherSet(name, decide) : element("select", { "aria-label": `Another class for ${name}`, change: (event) => event.target.value && decide(Number(event.target.value)) },
    element("option", { value: "" }, "another class"), ...others.map((code) => element("option", { value: code }, start.classes[code])));
  return element("div", { class: "controls", role: "group", "aria-label": `Verdict on ${name}` },
    ...said.map((code) => element("button", { type: "button", class: "button", click: () => decide(code) }, dot(code), className(code))),
    others.length ? choice : null);
}

/** Where nodes may have several labels: any set of classes. */
function otherSet(name, decide) {
  const list = element("div", { class: "several" }, ...boxes());
  return element("details", {}, element("summary", {}, "other classes"),
    element("fieldset", {}, element("legend", {}, `Classes of ${name}`), list,
      element("button", { type: "button", class: "button", click: () => decide(markedIn(list)) }, "Decide")));
}

async function readNode(row, details, box) {
  if (!details.open || box.childElementCount) return;
  try {
    const { values, comments } = await call("GET", `/nodes/${row}`);
    box.append(element("dl", {}, ...values.flatMap(([column, text]) => [element("dt", {}, column), element("dd", {}, text)])),
      element("ul", {}, ...(comments ?? []).map(({ person, name = person, text }) => element("li", {}, `${name ?? "somebody"}: ${text}`))));
  } catch (error) {
    box.append(element("p", {}, error instanceof Refusal ? error.message : "The network is away."));
  }
}

// -- the graph ------------------------------------------------------------------------------------------------

function showMap() {
  const canvas = $("map");
  const side = canvas.parentElement.clientWidth, ratio = devicePixelRatio || 1;
  if (!map || !side) return;
  canvas.width = canvas.height = Math.round(side * ratio);
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  const classColour = (code) => (start.looks[code]?.startsWith("c") ? colour(`class-${start.looks[code].slice(1)}`) : colour("muted"));
  const draw = canvas.getContext("2d");
  draw.scale(ratio, ratio);
  const count = map.x.length, radius = Math.max(1.6, Math.min(6, side / 14 / Math.sqrt(count || 1) * 2));
  const place = (share) => 10 + share * (side - 20);
  draw.strokeStyle = colour("muted");
  draw.globalAlpha = map.edges.length > 4000 ? 0.12 : 0.28;
  draw.lineWidth = 0.7;
  draw.beginPath();
  for (const [i, j] of map.edges) {
    draw.moveTo(place(map.x[i]), place(map.y[i]));
    draw.lineTo(place(map.x[j]), place(map.y[j]));
  }
  draw.stroke();
  const colours = start.classes.map((_, code) => classColour(code));
  // What is known is drawn last, on top.
  for (const known of [0, 1]) {
    for (let i = 0; i < count; i++) {
      if (Boolean(map.known[i]) !== Boolean(known)) continue;
      draw.globalAlpha = known ? 1 : 0.5;
      draw.beginPath();
      draw.arc(place(map.x[i]), place(map.y[i]), known ? Math.max(1.25 * radius, 3.4) : radius, 0, 2 * Math.PI);
      if (map.label[i] >= 0) {
        draw.fillStyle = colours[map.label[i]];
        draw.fill();
      }
      if (known || map.label[i] < 0) {
        draw.lineWidth = known ? 1.3 : 1;
        draw.strokeStyle = known ? colour("ink") : colour("muted");
        draw.stroke();
      }
    }
  }
  const answered = map.known.filter(Boolean).length;
  const labels = start.classes.map((name, code) => [name, code, map.label.filter((label) => label === code).length]);
  $("legend").replaceChildren(...labels.map(([name, code, many]) => element("li", {}, dot(code), `${name} `, element("small", {}, many.toLocaleString("en")))));
  const part = count < campaign.nodes ? `${count.toLocaleString("en")} of ${some(campaign.nodes, "node")}` : some(count, "node");
  const by = campaign.multilabel ? "coloured by the first class of each, " : "";
  $("map-text").textContent = `${part}, ${by}${answered.toLocaleString("en")} answered (with a ring); guesses are fainter, hollow nodes have none.`;
  canvas.setAttribute("aria-label", `The graph, coloured by label. ${labels.map(([name, , many]) => `${name}: ${many}`).join(", ")}.`);
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showMap);
addEventListener("resize", showMap);

// -- what a manager does --------------------------------------------------------------------------------------

const day = (seconds) => (seconds ? new Date(1000 * seconds).toISOString().slice(0, 10) : "");

/** The options as they are; an empty field stands for the default. */
function showOptions() {
  for (const field of $("options").querySelectorAll("[name]")) {
    field.value = campaign.options[field.name] ?? "";
    if (field.selectedIndex === -1) field.value = "";
  }
}

async function changeOptions(event) {
  event.preventDefault();
  const body = {};
  for (const { name, type, value } of $("options").querySelectorAll("[name]")) {
    if (value === String(campaign.options[name] ?? "")) continue;
    body[name] = value === "" ? null : type === "number" ? Number(value) : { true: true, false: false }[value] ?? value;
  }
  if (await change(() => call("PATCH", "", { body }), "The options are changed")) showOptions();
}

async function showTokens() {
  const tokens = await call("GET", "/tokens").catch(() => []);
  $("tokens").replaceChildren(
    ...tokens.map(({ id, name, person, role, created, expires, revoked }) =>
      element("tr", {}, element("th", { scope: "row" }, name || person || id),
        ...[role, day(created), expires ? day(expires) : "no end"].map((each) => element("td", {}, each)),
        element("td", {}, revoked ? `revoked ${day(revoked)}`
          : element("button", {
            type: "button", class: "button alarming", "aria-label": `Revoke the link of ${name || person || id}`,
            click: () => revoke(id, name || person),
          }, "Revoke")))),
  );
}

async function revoke(id, name) {
  await change(() => call("DELETE", `/tokens/${encodeURIComponent(id)}`), `The link of ${name} is revoked`);
  await showTokens();
}

async function invite(event) {
  event.preventDefault();
  const days = Number($("invite-days").value), name = $("invite-name").value.trim();
  const body = { name, role: $("invite-role").value, ...(days ? { days } : {}) };
  const made = await change(() => call("POST", "/tokens", { body }), `A link for ${name} is made`);
  if (!made) return;
  $("made").hidden = false;
  const local = /^(127\.|localhost$|0\.0\.0\.0$|\[::1?\]$)/.test(new URL(made.link).hostname)
    ? " Only this machine can open it: for others, open this page by the machine's name or IP address first." : "";
  $("made-text").textContent = `For ${name}. It is shown only now: send it to nobody else.${local}`;
  $("made-link").value = made.link;
  $("made-link").select();
  $("invite").reset();
  await showTokens();
}

async function copy() {
  $("made-link").select();
  try {
    await navigator.clipboard.writeText($("made-link").value);
  } catch {
    document.execCommand("copy"); // no clipboard without https
  }
  $("said").textContent = "Copied";
}

/** A file by way of the script, so that what the server refuses is told here. */
async function fetchFile(event) {
  event.preventDefault();
  const link = event.target;
  link.setAttribute("aria-busy", "true");
  try {
    const reply = await fetch(link.href);
    if (!reply.ok) throw new Refusal(reply.status, (await reply.json().catch(() => ({}))).error ?? `error ${reply.status}`);
    const place = URL.createObjectURL(await reply.blob());
    element("a", { href: place, download: link.download }).click();
    setTimeout(() => URL.revokeObjectURL(place), 60_000);
    $("notice").hidden = true;
  } catch (error) {
    tell(error instanceof Refusal ? error.message : "The network is away: nothing was fetched.");
  }
  link.removeAttribute("aria-busy");
}

for (const link of document.querySelectorAll("a[download]")) link.addEventListener("click", fetchFile);

if (start.manager) {
  $("pause").addEventListener("click", () => {
    const paused = !campaign.paused;
    change(() => call("PATCH", "", { body: { paused } }), paused ? "Paused" : "Running");
  });
  $("options").addEventListener("submit", changeOptions);
  $("anonymous").addEventListener("change", (event) => {
    for (const link of $("of-people").querySelectorAll("a"))
      link.href = link.href.replace(/anonymous=\w+/, `anonymous=${event.target.checked}`);
  });
  $("invite").addEventListener("submit", invite);
  $("copy").addEventListener("click", copy);
  showTokens();
}

showCampaign();
look(true);
setInterval(() => (document.hidden ? undefined : look()), EVERY);
document.addEventListener("visibilitychange", () => (document.hidden ? undefined : look()));
