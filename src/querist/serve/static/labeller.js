// Questions and their answers.
//
// An answer is written to the browser's storage before anything else happens, with the Idempotency-Key under
// which it will be sent: it outlives a reload, and sent twice it counts once. What is stored is sent one after
// the other, in order, until the server has it; only then it leaves the storage and is marked as saved.
// The next question is there before it is needed: two are on loan, and a heartbeat keeps them.

import {
  $, Refusal, boxes, breakable, call, className, dot, drawn, element, look, markedIn, percent, shortened, some, start,
} from "./common.js";

const AHEAD = 2; // questions on loan: the one on the screen and the next
const BEAT = 60_000; // milliseconds between heartbeats; a loan lasts five minutes at least
const IDLE = 600_000; // milliseconds without a key or a touch after which loans are left to expire
const POLL = 10_000; // milliseconds until asking again where there was no question
const FIRST_PAUSE = 1_000, LONGEST_PAUSE = 30_000; // milliseconds between tries to send
const LONG = 60; // letters from which a value is read as a text
const NEAR = start.near; // neighbours shown at first
const TAGGED = 12; // nodes up to which a drawing has names in it, or else neighbours
const LAST = 5; // answers shown with their mark
const multilabel = start.campaign.multilabel; // an answer is a list of classes, and their buttons are check boxes

// -- the outbox: what the server does not have yet ------------------------------------------------------------

const PREFIX = `querist ${start.campaign.id} ${start.person} `;
const memory = new Map(); // where the browser keeps nothing
const storage = storageOrNull();

function storageOrNull() {
  try {
    localStorage.setItem("querist", "");
    localStorage.removeItem("querist");
    return localStorage;
  } catch {
    return null;
  }
}

// An item an entry, so that two tabs never overwrite each other's; the names are in the order of the entries.
function outbox() {
  const names = [...memory.keys(), ...(storage ? Object.keys(storage) : [])];
  return [...new Set(names)].filter((name) => name.startsWith(PREFIX)).sort().map(entryOf).filter(Boolean);
}

function entryOf(name) {
  const text = memory.get(name) ?? storage?.getItem(name);
  try {
    return text ? { ...JSON.parse(text), name } : null;
  } catch {
    return null;
  }
}

function keep({ name, ...entry }) {
  try {
    if (storage) storage.setItem(name, JSON.stringify(entry));
    else memory.set(name, JSON.stringify(entry));
  } catch {
    notice("This browser's storage is full: leave the page open until all answers are saved.");
    memory.set(name, JSON.stringify(entry));
  }
}

function drop(name) {
  memory.delete(name);
  storage?.removeItem(name);
}

function put(path, body, about) {
  const last = outbox().at(-1)?.name.slice(PREFIX.length).split(" ")[0] ?? 0;
  // Later than whatever is stored, even where the clock was set back.
  const at = String(Math.max(Date.now(), Number(last) + 1)).padStart(16, "0");
  const key = [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");
  const entry = { name: `${PREFIX}${at} ${key}`, key, path, body, tried: false, refused: null, ...about };
  keep(entry);
  return entry;
}

let sending = false, away = false, signedOut = false, pause = FIRST_PAUSE, sendTimer = 0;

/** Send what is stored, in order; comes back to it until all is sent. */
async function send() {
  if (sending) return;
  sending = true;
  clearTimeout(sendTimer);
  try {
    for (let entry; (entry = outbox().find((each) => each.refused === null)); ) {
      // Marked before it leaves: from now on the server may have it, whatever the reply.
      keep({ ...entry, tried: true });
      showSafe();
      try {
        const reply = await call("POST", entry.path, { body: entry.body, key: entry.key });
        drop(entry.name);
        reached();
        delivered(entry, reply);
      } catch (error) {
        if (failed(error)) return void (sendTimer = setTimeout(send, nextPause()));
        keep({ ...entry, tried: true, refused: error.message });
      }
    }
  } finally {
    sending = false;
    showSafe();
    showRefused();
  }
  refill();
}

/** Note why a call brought nothing; whether it should be made again later. */
function failed(error) {
  const refused = error instanceof Refusal;
  away = !refused || error.passes;
  signedOut = refused && error.status === 401;
  return away || signedOut;
}

function reached() {
  [away, signedOut, pause] = [false, false, FIRST_PAUSE];
}

function nextPause() {
  const now = pause * (0.75 + Math.random() / 2); // not all browsers of a room at once
  pause = Math.min(2 * pause, LONGEST_PAUSE);
  return now;
}

/** The server has it. */
function delivered(entry, reply) {
  if (entry.path === "/undo") return undone(entry, reply);
  const kept = entry.path === "/comments" ? "comment" : entry.said;
  $("said-saved").textContent = `Saved: ${entry.title}, ${kept}`;
  const item = past.find((each) => each.name === entry.name);
  if (item) item.state = reply.late ? "late" : "saved";
  showPast();
  refresh();
}

// -- questions on loan ----------------------------------------------------------------------------------------

let held = []; // the first is on the screen
let answered = []; // {lease, name of its entry}, for undo
let past = []; // the last answers and their marks, newest first
let leaving = new Set(); // rows whose answers were under way at some time while questions were fetched
let resting = false, refilling = false, stopped = null, refillTimer = 0;
let campaign = start.campaign;

const unsentRows = () => outbox().filter((entry) => entry.path === "/answers").map((entry) => entry.body.row);

/** Have `AHEAD` questions at hand. Those with an answer under way may still be open at the server. */
async function refill() {
  if (refilling || resting || sending || held.length >= AHEAD) return show();
  refilling = true;
  clearTimeout(refillTimer);
  leaving = new Set(unsentRows());
  const before = leaving.size;
  let wait = POLL;
  try {
    const reply = await call("POST", "/leases", { body: { count: AHEAD } });
    reached();
    stopped = reply.stopped;
    const known = new Set([...leaving, ...held.map((lease) => lease.row)]);
    held.push(...reply.leases.filter((lease) => !known.has(lease.row)));
    if (leaving.size > before) wait = 0; // an answer was given meanwhile, and makes room
  } catch (error) {
    // A conflict: one of them was answered just when it was fetched.
    if (failed(error) || error.status === 409) wait = nextPause();
    else stopped = error.message;
  } finally {
    refilling = false;
  }
  if (held.length < AHEAD) refillTimer = setTimeout(() => (document.hidden ? undefined : refill()), wait);
  show();
  showSafe();
}

let lastTouch = Date.now(), lastBeat = Date.now();

/** Tell the server that somebody still looks at the questions on loan. */
async function beat() {
  if (document.hidden || Date.now() - lastTouch > IDLE || Date.now() - lastBeat < BEAT / 2) return;
  lastBeat = Date.now();
  for (const lease of [...held]) {
    try {
      lease.until = (await call("POST", `/leases/${lease.row}/beat`)).until;
      reached();
    } catch (error) {
      if (failed(error) || !held.includes(lease)) continue;
      // It went back to the pool. One that is being read stays: an answer counts as a further vote.
      if (lease !== held[0]) held = held.filter((each) => each !== lease);
      else notice("This question went back to the others meanwhile. Your answer is still kept, as a further vote.");
    }
  }
  showSafe();
  refill();
}

/** Give the questions back to the others. */
function rest() {
  resting = true;
  for (const lease of held) call("DELETE", `/leases/${lease.row}`).catch(() => {}); // else it expires
  held = [];
  show();
  $("go-on").focus();
}

function goOn() {
  resting = false;
  refill();
}

let refreshTimer = 0;

/** How far the campaign is; at most once in a few seconds. */
function refresh() {
  refreshTimer ||= setTimeout(async () => {
    refreshTimer = 0;
    try {
      campaign = await call("GET", "");
      showProgress();
    } catch {
      // The next answer asks again.
    }
  }, 2_000);
}

// -- what a person does ---------------------------------------------------------------------------------------

/** The question on the screen. After an undo that only the server can tell the question of, there is none. */
const current = () => (takingBack() ? null : held[0] ?? null);
const takingBack = () => outbox().some((each) => each.path === "/undo" && each.row === null && each.refused === null);

function answer(outcome, code = null) {
  const lease = current();
  if (!lease) return;
  held.shift();
  if (multilabel) lease.marked = code; // for when it is taken back
  stopped = null; // until the server says so again
  const said = outcome === "answer" ? className(code) : outcome;
  const body = { row: lease.row, outcome };
  if (outcome === "answer") body.label = code;
  const entry = put("/answers", body, { title: titleOf(lease), said });
  leaving.add(lease.row);
  answered.push({ lease, name: entry.name });
  past.unshift({ name: entry.name, row: lease.row, title: titleOf(lease), said, code, outcome, state: "waiting" });
  past.length = Math.min(past.length, LAST);
  showPast();
  show();
  send();
}

const sendMarked = () => answer("answer", markedIn($("classes")));

/** A class key was pressed, or a class found. */
function choose(code) {
  if (!multilabel) return answer("answer", code);
  const box = $("classes").children[code].firstChild;
  box.checked = !box.checked;
  showMarked();
  $("said").textContent = `${start.classes[code]}: ${box.checked ? "marked" : "not marked"}`;
}

function undo() {
  const last = answered.pop();
  const entry = last && entryOf(last.name);
  if (last) {
    held.unshift(last.lease);
    past = past.filter((each) => each.name !== last.name);
    showPast();
  }
  if (entry && (!entry.tried || entry.refused !== null)) {
    drop(entry.name); // the server never had it
    $("said-saved").textContent = "Taken back";
  } else {
    put("/undo", {}, { row: last ? last.lease.row : null, title: "Undo", said: "the last answer" });
    send();
  }
  show();
  showSafe();
  showRefused();
}

/** The server took an answer back. Whatever is on the screen stays there: somebody may be about to answer it. */
function undone(entry, { row, lease }) {
  $("said-saved").textContent = row === null ? "There is no answer to take back" : "Taken back";
  if (row === entry.row && row !== null) {
    if (lease) held = held.map((each) => (each.row === row ? { ...each, until: lease.until } : each));
    return refresh();
  }
  held = held.filter((each) => each.row !== entry.row && each.row !== row);
  if (lease && !unsentRows().includes(row)) held.splice(held[0] && held[0].row === shown ? 1 : 0, 0, lease);
  show();
  if (row === null) notice("There is no answer to take back.");
  refresh();
}

let commented = null; // the lease that the dialog is about

function comment() {
  if (!current() || $("comment").open) return;
  commented = current();
  $("comment-text").value = "";
  $("comment").showModal();
}

function keepComment() {
  const text = $("comment-text").value.trim(), lease = commented;
  $("comment").close();
  if (!text) return;
  put("/comments", { row: lease.row, text }, { title: titleOf(lease), said: "comment" });
  lease.detail.comments = [...(lease.detail.comments ?? []), { person: "you", text }];
  if (lease === held[0]) showComments(lease.detail.comments);
  send();
}

const DO = {
  skip: () => answer("skip"), unsure: () => answer("unsure"), undo, comment,
  leave: () => (resting ? goOn() : rest()),
};

document.addEventListener("keydown", (event) => {
  lastTouch = Date.now();
  const altGraph = event.getModifierState("AltGraph");
  if (event.isComposing || ((event.ctrlKey || event.altKey) && !altGraph) || event.metaKey) return;
  const field = event.target.closest("input:not([type=checkbox]), textarea, dialog");
  if (field) return;
  if (event.repeat) {
    // A key that is held down answers one question, not all that follow.
    if (event.target.closest("button")) event.preventDefault();
    return;
  }
  // A button or a link does what it does by Enter.
  if (multilabel && event.key === "Enter" && !event.target.closest("button, a") && ($("single").checked || event.target.closest(".answers"))) {
    event.preventDefault();
    return sendMarked();
  }
  if (!$("single").checked) return;
  for (const form of [event.key, event.key.toLowerCase(), event.key.toUpperCase()]) {
    const code = start.keys ? start.keys.indexOf(form) : -1;
    const what = Object.hasOwn(start.commands, form) ? start.commands[form] : null;
    if (code < 0 && !what && (start.keys || form !== "/")) continue;
    event.preventDefault();
    if (code >= 0) choose(code);
    else if (what) DO[what]();
    else $("find").focus();
    return;
  }
});

document.addEventListener("pointerdown", () => (lastTouch = Date.now()));
document.querySelector(".commands").addEventListener("click", (event) => {
  const button = event.target.closest("[data-command]");
  if (button) DO[button.dataset.command]();
});
$("go-on").addEventListener("click", goOn);
$("comment-keep").addEventListener("click", (event) => {
  event.preventDefault();
  keepComment();
});
$("comment-text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) keepComment();
});

$("single").checked = storage?.getItem("querist single keys") !== "no";
$("single").addEventListener("change", (event) => {
  storage?.setItem("querist single keys", event.target.checked ? "yes" : "no");
  document.body.classList.toggle("no-keys", !event.target.checked);
});
document.body.classList.toggle("no-keys", !$("single").checked);

// -- what is shown --------------------------------------------------------------------------------------------

let shown = null;

const titleOf = (lease) => lease.name || String(lease.node);

/** What the model makes of a question's node: as it was last read, which is later than when it was chosen. */
const guessOf = (lease) => (lease.blind ? { guess: null, blind: true } : lease.detail.guess === undefined ? lease : lease.detail);

function show() {
  const lease = current();
  $("question").hidden = lease === null;
  $("rest").hidden = lease !== null;
  for (const button of document.querySelectorAll("#classes button, #send, [data-command]")) {
    const always = ["undo", "leave"].includes(button.dataset.command);
    button.setAttribute("aria-disabled", String(lease === null && !always));
  }
  showProgress();
  if (lease === null) {
    showRest();
  } else if (shown !== lease.row) {
    showQuestion(lease);
  }
  shown = lease?.row ?? null;
}

function showRest() {
  const unsent = outbox().length;
  const [title, text] = resting
    ? ["A break", "Your questions went back to the others."]
    : signedOut
      ? ["You are signed out", "Open your link again. Answers that are not saved yet are kept in this browser."]
      : away
        ? ["The network is away", unsent ? `${some(unsent, "answer")} kept in this browser, sent when it is back.` : "Questions come when it is back."]
        : stopped && !takingBack()
          ? ["No question now", stopped]
          : sending || refilling
            ? ["Fetching a question", ""]
            : ["No question now", "Others have the open ones. The page asks again by itself."];
  $("go-on").hidden = !resting;
  if ($("rest-title").textContent === title && $("rest-text").textContent === text) return;
  $("rest-title").textContent = title;
  $("rest-text").textContent = text;
  if (title !== "Fetching a question") $("said").textContent = `${title}. ${text}`;
}

function showQuestion(lease) {
  const { detail } = lease;
  notice("");
  $("number").textContent = `Question ${lease.number}`;
  $("kind").textContent = lease.audit ? " · a random check" : lease.again ? " · a second answer is wanted" : "";
  $("name").textContent = titleOf(lease);
  $("why").textContent = lease.reason ?? "";
  const guessed = guessOf(lease);
  if (multilabel) mark(lease.marked ?? []);
  showGuess(guessed);
  showValues(detail.values ?? [], $("texts"), $("values"));
  $("values-box").hidden = !$("values").children.length;
  showComments(detail.comments ?? []);
  showNeighbours(detail.neighbours ?? [], detail.degree);
  $("drawing").replaceChildren(...drawing(detail.drawing, titleOf(lease)));
  $("find").value = "";
  filter();
  scrollTo({ top: 0 });
  const guess = guessed.guess === null ? "" : ` Guess: ${className(guessed.guess)}, ${percent(guessed.probability)}.`;
  $("said").textContent = `Question ${lease.number}: ${titleOf(lease)}.${guess} ${lease.reason ?? ""}`;
}

function showGuess({ guess, probability, second, second_probability: less, probabilities, blind }) {
  const box = $("guess");
  if (blind) box.replaceChildren("No guess is shown: your answer is to check it.");
  else if (guess === null || guess === undefined) box.replaceChildren("No guess yet.");
  else {
    box.replaceChildren("Guess: ", dot(guess), element("strong", {}, className(guess)), ` ${percent(probability)}`);
    if (second !== null && second !== undefined) box.append(", then ", dot(second), `${className(second)} ${percent(less)}`);
  }
  for (const button of $("classes").children) {
    const code = Number(button.dataset.code);
    button.classList.toggle("guessed", multilabel ? (guess ?? []).includes(code) : code === guess);
    button.querySelector(".chance").textContent = multilabel
      ? (probabilities ? percent(probabilities[code]) : "")
      : code === guess ? percent(probability) : code === second ? percent(less) : "";
  }
}

function showValues(values, texts, table) {
  const long = values.filter(([, text]) => text.length > LONG || text.includes("\n"));
  const short = values.filter((each) => !long.includes(each));
  texts.replaceChildren(
    ...long.map(([column, text]) =>
      element("section", { class: "text" }, element("h2", {}, column), element("p", {}, text))),
  );
  table.replaceChildren(
    ...short.flatMap(([column, text]) => [element("dt", {}, column), element("dd", {}, text)]),
  );
}

function showComments(comments) {
  $("comments-box").hidden = !comments.length;
  $("comments").replaceChildren(
    ...comments.map(({ person, name = person, text }) => element("li", {}, element("strong", {}, name ?? "somebody"), `: ${text}`)),
  );
}

/** The server lists the heaviest edges of all there are. */
function showNeighbours(neighbours, degree = neighbours.length, all = false) {
  const first = degree > neighbours.length ? `, the first ${neighbours.length} here` : "";
  $("near-title").textContent = degree ? `${some(degree, "neighbour")}${first}` : "No neighbours";
  const part = all ? neighbours : neighbours.slice(0, NEAR);
  $("near").replaceChildren(
    ...part.map(({ row, name, label, known }) =>
      element("li", {}, element("button", { type: "button", click: () => showOther(row, name, label, known) },
        dot(label, known), element("span", { class: "who" }, String(name)),
        element("small", {}, known ? className(label) : label === null ? "no guess" : `${className(label)}?`)))),
  );
  const rest = neighbours.length - part.length;
  $("near-more").hidden = !rest;
  $("near-more").textContent = `Show ${rest} more`;
  $("near-more").onclick = () => {
    showNeighbours(neighbours, degree, true);
    $("near").children[NEAR].firstChild.focus();
  };
}

/** Another node, beside the question. */
async function showOther(row, name, label, known) {
  $("other-name").textContent = String(name);
  $("other-label").textContent = known ? `Answered: ${className(label)}.` : label === null ? "No guess yet." : `Guess: ${className(label)}.`;
  showValues([], $("other-texts"), $("other-values"));
  $("other").showModal();
  try {
    const detail = await call("GET", `/nodes/${row}`);
    showValues(detail.values ?? [], $("other-texts"), $("other-values"));
  } catch (error) {
    $("other-label").append(" ", error instanceof Refusal ? error.message : "The network is away.");
  }
}

function drawing(picture, title) {
  if (!picture || picture.nodes.length < 2) return [];
  const size = 400, margin = 22, { nodes, edges } = picture;
  const place = (share) => Math.round(10 * (margin + share * (size - 2 * margin))) / 10;
  const at = nodes.map((node) => [place(node.x), place(node.y)]);
  const radius = nodes.length <= 40 ? 8 : nodes.length <= 70 ? 6 : 4.5;
  const path = edges.map(([i, j]) => `M${at[i].join(" ")}L${at[j].join(" ")}`).join("");
  // Edges do not shine through what is faint.
  const under = nodes.map((node, i) => drawn("circle", { class: "under", cx: at[i][0], cy: at[i][1], r: radius }));
  const circles = nodes.map((node, i) =>
    drawn("circle", {
      class: `${look(node.label)}${node.known ? " known" : ""}${node.centre ? " centre" : ""}`,
      cx: at[i][0], cy: at[i][1], r: node.centre ? 1.5 * radius : radius,
      "fill-opacity": node.known || node.label === null ? null : 0.45,
      click: node.centre ? null : () => showOther(node.row, node.name, node.label, node.known),
    }, drawn("title", {}, `${node.name}: ${node.known ? className(node.label) : node.label === null ? "no guess" : `${className(node.label)}?`}`)));
  const centre = nodes.findIndex((node) => node.centre);
  const near = edges.filter((edge) => edge.includes(centre)).map(([i, j]) => (i === centre ? j : i));
  const named = [nodes.map((_, i) => i), near].find((each) => each.length <= TAGGED) ?? [];
  const tags = named.filter((i) => i !== centre).map((i) =>
    drawn("text", {
      x: at[i][0], y: at[i][1] + radius + 11,
      "text-anchor": at[i][0] < 70 ? "start" : at[i][0] > size - 70 ? "end" : "middle",
    }, shortened(String(nodes[i].name), 22)));
  const known = nodes.filter((node) => node.known).length;
  const heard = `${title} among ${some(nodes.length - 1, "node")} around it, of which ${known} are answered.`;
  return [
    drawn("svg", { role: "img", "aria-label": heard, viewBox: `0 0 ${size} ${size}` },
      drawn("path", { class: "edges", d: path }), ...under, ...circles, ...tags),
    element("figcaption", {}, "A ring marks an answer; guesses are fainter."),
  ];
}

const MARKS = { waiting: ["…", "kept in this browser"], saved: ["✓", "saved"], late: ["✓", "saved as a further vote"] };

function showPast() {
  $("past").replaceChildren(
    ...past.map(({ title, said, code, state }) =>
      element("li", { class: state }, code === null ? null : dot(code),
        element("span", {}, `${shortened(title, 28)}: ${said}`),
        element("b", { role: "img", "aria-label": MARKS[state][1], title: MARKS[state][1] }, MARKS[state][0]))),
  );
}

function showSafe() {
  const entries = outbox(), refused = entries.filter((entry) => entry.refused !== null).length;
  const waiting = entries.length - refused, box = $("safe");
  const [state, text] = signedOut
    ? ["alarm", `Signed out: open your link again${waiting ? `; ${waiting} kept here` : ""}`]
    : away
      ? ["away", waiting ? `Network away: ${some(waiting, "answer")} kept here` : "Network away"]
      : waiting
        ? ["sending", "Saving"]
        : refused
          ? ["alarm", `${some(refused, "answer")} refused`]
          : ["saved", "All answers saved"];
  if (box.textContent === text) return;
  box.dataset.state = state;
  box.textContent = text;
  if (state === "away" || state === "alarm") $("said-saved").textContent = text;
  if (current() === null) showRest();
}

/** What the server will not take stays here, and is told, until the person lets it go. */
function showRefused() {
  const refused = outbox().filter((entry) => entry.refused !== null);
  $("refused").hidden = !refused.length;
  $("refused").replaceChildren(
    ...refused.map((entry) =>
      element("p", {}, `${entry.title}, ${entry.said}: ${entry.refused} `,
        element("button", { type: "button", class: "button", click: () => again(entry) }, "Send again"), " ",
        element("button", { type: "button", class: "button", click: () => letGo(entry) }, "Let it go"))),
  );
}

function again(entry) {
  keep({ ...entry, refused: null });
  showRefused();
  send();
}

function letGo(entry) {
  drop(entry.name);
  past = past.filter((each) => each.name !== entry.name);
  showPast();
  showRefused();
  showSafe();
}

function showProgress() {
  const { asked, budget, expected_accuracy: expected } = campaign;
  $("progress").value = budget ? Math.min(1, asked / budget) : 0;
  const sure = expected === null ? "" : `, expected accuracy ${percent(expected)}`;
  $("done").replaceChildren(`${asked} of ${some(budget, "answer")}`, element("span", { class: "sure" }, sure));
}

function notice(text) {
  $("notice").hidden = !text;
  $("notice").textContent = text;
  if (text) $("said-saved").textContent = text;
}

function classButtons() {
  const more = (code) => [
    element("small", { class: "chance" }),
    start.keys ? element("kbd", { "aria-hidden": "true" }, start.keys[code]) : null,
  ];
  $("classes").replaceChildren(...(multilabel ? boxes(showMarked, more) : start.classes.map((name, code) =>
    element("button", { type: "button", "data-code": code, "aria-keyshortcuts": start.keys?.[code] ?? null, click: () => answer("answer", code) },
      dot(code), element("span", {}, ...breakable(name)), ...more(code)))));
}

function mark(codes) {
  for (const label of $("classes").children) label.firstChild.checked = codes.includes(Number(label.dataset.code));
  showMarked();
}

function showMarked() {
  $("marked").textContent = className(markedIn($("classes")));
}

/** Where classes outnumber the keys, the beginning of a name and Enter stand for one. */
function filter() {
  const typed = $("find").value.trim().toLowerCase();
  const names = start.classes.map((name) => name.toLowerCase());
  const fits = names.map((name) => name.includes(typed));
  [...$("classes").children].forEach((button, code) => (button.hidden = !fits[code]));
  const exact = typed ? names.indexOf(typed) : -1;
  const begun = names.findIndex((name) => name.startsWith(typed));
  const found = fits.filter(Boolean).length;
  const code = !typed || !found ? -1 : exact >= 0 ? exact : begun >= 0 ? begun : fits.indexOf(true);
  $("found").textContent = !typed ? "" : code < 0 ? "no such class" : `Enter: ${start.classes[code]}`;
  return code;
}

$("finder").hidden = start.keys !== null;
$("find").addEventListener("input", filter);
$("find").addEventListener("keydown", (event) => {
  if (event.key === "Escape") event.target.blur();
  if (event.key !== "Enter" || event.repeat) return;
  const code = filter();
  if (multilabel && !event.target.value) sendMarked();
  if (code < 0) return;
  choose(code);
  if (multilabel) event.target.value = "";
  filter();
});
$("send")?.addEventListener("click", sendMarked);

// -- beginning ------------------------------------------------------------------------------------------------

addEventListener("online", () => {
  reached();
  send();
});
addEventListener("offline", () => {
  away = true;
  showSafe();
});
addEventListener("storage", ({ key, newValue }) => {
  // Another tab of this person has the same questions on loan: what is answered there is done here.
  const entry = key?.startsWith(PREFIX) && newValue ? entryOf(key) : null;
  if (entry?.path === "/answers" && held.some((lease) => lease.row === entry.body.row)) {
    held = held.filter((lease) => lease.row !== entry.body.row);
    show();
  }
  showSafe();
  showRefused();
});
addEventListener("beforeunload", (event) => {
  if (memory.size) event.preventDefault(); // these would be lost
});
document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  lastTouch = Date.now();
  beat();
  send();
});
setInterval(beat, BEAT);
if (!storage) notice("This browser keeps nothing: leave the page open until all answers are saved.");
classButtons();
showProgress();
showRefused();
send();
