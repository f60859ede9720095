// The form of a new campaign: sends the files, shows how far the server is, tells at a field what is wrong with it.

import { $, Refusal, address, call, callHeaders, percent } from "./common.js";

const EVERY = 700; // milliseconds between looks at how far the server is
const FIELDS = [...$("new").elements].map((each) => each.name).filter(Boolean);
// What a refusal begins with that does not begin with the name of its field.
const MEANS = [[/^no classes\b/, "classes"], [/^node table\b/, "nodes"], [/^label /, "labels"], [/^unknown query strategy\b/, "strategy"]];

let working = false;

// -- what is wrong --------------------------------------------------------------------------------------------

function clear() {
  $("notice").hidden = true;
  for (const name of FIELDS) mark(name, "");
}

function mark(name, text) {
  $(`${name}-wrong`).textContent = text;
  $(`${name}-wrong`).hidden = !text;
  if (text) $(name).closest("details")?.setAttribute("open", "");
  if (text) $(name).setAttribute("aria-invalid", "true");
  else $(name).removeAttribute("aria-invalid");
}

/** At the field that it speaks of, or above the form. */
function tell(text) {
  const name = FIELDS.find((each) => new RegExp(`^${each}\\b`).test(text)) ?? MEANS.find(([begins]) => begins.test(text))?.[1];
  if (name) mark(name, text);
  else {
    $("notice").textContent = text;
    $("notice").hidden = false;
  }
  (name ? $(name) : $("notice")).focus();
}

/** Whether every field holds what the browser can tell that it needs; the first that does not has the focus. */
function complete() {
  const wrong = FIELDS.map($).filter((each) => !each.checkValidity());
  for (const each of wrong)
    mark(each.id, each.type === "file" ? "Choose a file of edges." : each.validationMessage);
  wrong[0]?.focus();
  return !wrong.length;
}

// -- sending --------------------------------------------------------------------------------------------------

function filled() {
  const form = new FormData();
  for (const name of FIELDS) {
    const field = $(name);
    if (field.type === "file") {
      if (field.files.length) form.append(name, field.files[0]);
    } else if (field.tagName === "TEXTAREA") {
      const names = field.value.replaceAll(/\s*\n\s*/g, ",").trim();
      if (names) form.append(name, names);
    } else if (field.value.trim()) form.append(name, field.value.trim());
  }
  return form;
}

/** Fetch cannot tell how much of a body has left. */
function sent(form, left) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", address("/files"));
    for (const [name, value] of Object.entries(callHeaders())) request.setRequestHeader(name, value);
    request.upload.addEventListener("progress", ({ loaded, total }) => left(loaded / (total || 1)));
    request.addEventListener("error", () => reject(new Error("away")));
    request.addEventListener("load", () => {
      let said = {};
      try {
        said = JSON.parse(request.responseText);
      } catch {
        // a proxy's page, not the server's answer
      }
      if (request.status === 201) resolve(said);
      else reject(new Refusal(request.status, typeof said.error === "string" ? said.error : `error ${request.status}`));
    });
    request.send(form);
  });
}

function doing(text, share = null) {
  $("working").hidden = false;
  if (share === null) $("progress").removeAttribute("value");
  else $("progress").value = share;
  if ($("doing").textContent !== text) $("doing").textContent = text;
}

/** What the server says of the work, once it has the files and until it is done. */
async function follow() {
  while (working) {
    const { fraction, text } = await call("GET", "/files").catch(() => ({}));
    if (working && text) doing(`${text[0].toUpperCase()}${text.slice(1)}`, fraction);
    await new Promise((resolve) => setTimeout(resolve, EVERY));
  }
}

async function create(event) {
  event.preventDefault();
  if (working) return;
  clear();
  if (!complete()) return;
  working = true;
  $("create").setAttribute("aria-disabled", "true");
  let arrived = false;
  doing("Sending the files", 0);
  follow();
  try {
    const made = await sent(filled(), (share) => {
      arrived = share === 1;
      doing(arrived ? "Reading the files" : `Sending the files: ${percent(share)}`, arrived ? null : share);
    });
    doing("Opening the campaign", 1);
    location.assign(`/c/${encodeURIComponent(made.id)}/manage`);
  } catch (error) {
    tell(error instanceof Refusal ? error.message
      : `The network is away. ${arrived ? "The files had left: look at the list of campaigns before you send them again." : "Nothing was made: send it again."}`);
    $("working").hidden = true;
    $("create").removeAttribute("aria-disabled");
    working = false;
  }
}

$("new").addEventListener("submit", create);
$("create").disabled = false; // without the script the form leads nowhere
for (const name of FIELDS) $(name).addEventListener("input", () => mark(name, ""));
