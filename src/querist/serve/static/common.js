// What all pages need: calls of the API, and elements made of text. No text ever becomes markup: strings
// enter the page as text nodes and as values of attributes, nothing else.

export const start = JSON.parse(document.getElementById("start").textContent);

const API = `/v1/campaigns${start.campaign ? `/${encodeURIComponent(start.campaign.id)}` : ""}`;
const PATIENCE = 30_000; // milliseconds until a call counts as lost
const SVG = "http://www.w3.org/2000/svg";

/** What the server said instead of doing it. */
export class Refusal extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }

  /** Whether the same call may well succeed later. */
  get passes() {
    return this.status >= 500 || [408, 425, 429].includes(this.status);
  }
}

/** JSON from the API. Throws a Refusal, or another error where no whole reply came. */
export async function call(method, path, { body, key } = {}) {
  const headers = callHeaders();
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (key !== undefined) headers["Idempotency-Key"] = key;
  const reply = await fetch(API + path, {
    method, headers, body: JSON.stringify(body), cache: "no-store", signal: AbortSignal.timeout(PATIENCE),
  });
  if (reply.ok) return reply.status === 204 ? {} : reply.json();
  const said = await reply.json().catch(() => ({}));
  throw new Refusal(reply.status, typeof said.error === "string" ? said.error : `error ${reply.status}`);
}

/** What every call says besides: that the page itself makes it. */
export const callHeaders = () => ({ Accept: "application/json", "X-Querist-CSRF": cookie("querist_csrf") });

export const address = (path) => API + path;

function cookie(name) {
  const found = document.cookie.split("; ").find((each) => each.startsWith(`${name}=`));
  return found ? decodeURIComponent(found.slice(name.length + 1)) : "";
}

export const $ = (id) => document.getElementById(id);

/** An element with these attributes; null and false leave one out. Children are elements or text. */
export function element(tag, attributes = {}, ...children) {
  return furnished(document.createElement(tag), attributes, children);
}

export function drawn(tag, attributes = {}, ...children) {
  return furnished(document.createElementNS(SVG, tag), attributes, children);
}

function furnished(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === false) continue;
    if (typeof value === "function") made.addEventListener(name, value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== ""));
  return made;
}

// Where nodes may have several labels, a label is a list of classes, drawn in the colour of the first.
const first = (label) => (Array.isArray(label) ? label[0] ?? null : label);
const hasClass = (label) => first(label) !== null && first(label) >= 0;
export const look = (label) => (hasClass(label) ? start.looks[first(label)] ?? "other" : "none");
export const className = (label) =>
  Array.isArray(label) ? label.map((code) => start.classes[code]).join(start.between) || start.empty
    : hasClass(label) ? start.classes[label] : "no guess";

/** A check box a class; `more` goes behind the name of each. */
export function boxes(changed = null, more = () => []) {
  return start.classes.map((name, code) =>
    element("label", { "data-code": code },
      element("input", { type: "checkbox", change: changed, "aria-keyshortcuts": start.keys?.[code] ?? null }),
      dot(code), element("span", {}, ...breakable(name)), ...more(code)));
}

/** The classes whose boxes have a mark. */
export const markedIn = (box) =>
  [...box.querySelectorAll("[data-code]")].filter((label) => label.firstChild.checked).map((label) => Number(label.dataset.code));

/** A name that may go on in the next line after each of its parts. */
export const breakable = (name) => name.split(/(?<=[_/.-])/).flatMap((part, i) => (i ? [element("wbr"), part] : [part]));

/** The colour of a class; hollow without one, fainter where it is a guess. */
export function dot(code, known = true) {
  const circle = drawn("circle", { class: look(code), cx: 5, cy: 5, r: 4.5, opacity: known ? null : 0.5 });
  return drawn("svg", { class: "dot", viewBox: "0 0 10 10", "aria-hidden": "true" }, circle);
}

export const percent = (share, digits = 0) =>
  share === null || share === undefined ? "–" : `${(100 * share).toFixed(digits)} %`;

export const some = (count, what, many = `${what}s`) => `${count.toLocaleString("en")} ${count === 1 ? what : many}`;

export const shortened = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
