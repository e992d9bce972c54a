// What the pages do besides being read: search while typing, the cards of sources, and keys.
// Everything here can be missing: each page works without it.
"use strict";

const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

// --- the page's name, where the line of names is too long for the window ----------------------------------------

$(".top nav [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });

// --- what an action said, which a reload does not say again ---------------------------------------------------

const here = new URL(location.href);
if (here.searchParams.has("said")) {
  here.searchParams.delete("said");
  history.replaceState(null, "", here);
}

// --- search while typing ---------------------------------------------------------------------------------------

const typed = $("form[data-typed]");
if (typed) {
  const field = $("input[type=search]", typed);
  const results = $("#results");
  let running = null;
  let timer = 0;
  const look = async () => {
    const query = new URLSearchParams(new FormData(typed));
    running?.abort();
    running = new AbortController();
    const whole = `/search?${query}`;
    query.set("part", "1");
    try {
      const answer = await fetch(`/search?${query}`, { signal: running.signal });
      if (!answer.ok) return;
      const found = await answer.text();
      if (results.contains(document.activeElement)) return; // a result is being chosen
      results.innerHTML = found;
      results.hidden = !field.value.trim();
      if ("whole" in typed.dataset) history.replaceState(null, "", whole);
    } catch (error) {
      if (error.name !== "AbortError") results.hidden = true; // the server has ended
    }
  };
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(look, 60);
  });
  if (field.value !== field.defaultValue) look(); // what was typed before this was loaded
  field.setSelectionRange?.(field.value.length, field.value.length);
}

// --- the card of a source --------------------------------------------------------------------------------------

const card = $("#card");
const cards = new Map();
let shownFor = null;
let leaving = 0;

const place = (link) => {
  const box = link.getBoundingClientRect();
  const width = Math.min(380, innerWidth - 24);
  const left = Math.max(12, Math.min(box.left, innerWidth - width - 12));
  card.style.width = `${width}px`;
  card.style.left = `${left + scrollX}px`;
  const height = card.offsetHeight;
  const below = box.bottom + height + 12 < innerHeight || box.top < height + 12;
  card.style.top = `${(below ? box.bottom + 8 : box.top - height - 8) + scrollY}px`;
};

const show = async (link) => {
  clearTimeout(leaving);
  if (shownFor === link) return;
  shownFor = link;
  const address = new URL(link.href);
  address.pathname = address.pathname.replace("/entry/", "/source/");
  if (!cards.has(address.href)) {
    const answer = await fetch(address).catch(() => null);
    if (!answer?.ok) return;
    cards.set(address.href, await answer.text());
  }
  if (shownFor !== link) return;
  card.innerHTML = cards.get(address.href);
  card.hidden = false;
  link.setAttribute("aria-describedby", "card");
  place(link);
};

const hide = () => {
  clearTimeout(leaving);
  shownFor?.removeAttribute("aria-describedby");
  shownFor = null;
  if (card) card.hidden = true;
};

const hideSoon = () => {
  clearTimeout(leaving);
  leaving = setTimeout(hide, 220);
};

if (card) {
  const source = (event) => event.target.closest?.("a.source");
  document.addEventListener("pointerover", (event) => {
    if (event.pointerType === "touch") return;
    const link = source(event);
    if (link) show(link);
    else if (card.contains(event.target)) clearTimeout(leaving);
    else if (shownFor) hideSoon();
  });
  document.addEventListener("focusin", (event) => {
    const link = source(event);
    if (link) show(link);
    else if (shownFor && !card.contains(event.target)) hide();
  });
  let touched = false;
  document.addEventListener("pointerdown", (event) => {
    touched = event.pointerType === "touch";
  });
  document.addEventListener("click", (event) => {
    const link = source(event);
    if (link && touched) {
      event.preventDefault(); // a tap shows the card, the link in it leads on
      show(link);
    } else if (!card.contains(event.target)) hide();
  });
}

// --- keys ------------------------------------------------------------------------------------------------------

const isTyping = (node) => node?.matches?.("input, textarea, select, [contenteditable]");

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    hide();
    if (isTyping(document.activeElement)) document.activeElement.blur();
    return;
  }
  const inField = isTyping(document.activeElement);
  if (inField && !["ArrowDown", "ArrowUp"].includes(event.key)) return;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/") {
    event.preventDefault();
    const field = $("#find");
    field?.focus();
    field?.select();
  }
  const step = { j: 1, ArrowDown: inField ? 1 : 0, k: -1, ArrowUp: inField ? -1 : 0 }[event.key];
  if (step) move(step, event);
});

const move = (step, event) => {
  const all = $$("#results a, .learned a, .projects a, .page a, .wide a");
  const links = all.filter((link) => link.offsetParent !== null);
  if (!links.length) return;
  const at = links.indexOf(document.activeElement);
  const next = links[at < 0 ? (step > 0 ? 0 : links.length - 1) : at + step];
  if (!next) return;
  event.preventDefault();
  next.focus();
  next.scrollIntoView({ block: "nearest" });
};
