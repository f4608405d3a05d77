// Keeps a page up to date that names its address in data-live: asks for it anew and brings what is shown to what came,
// node by node, so that focus, selection, open details and whatever has been typed stay as they are. Elements with
// data-keep are left alone.
"use strict";

(() => {
  const INTERVAL = 1000;
  const stale = document.getElementById("stale");
  let last = new Date();

  const kept = (node) => node.nodeType === Node.ELEMENT_NODE && node.hasAttribute("data-keep");

  function alike(a, b) {
    return a.nodeType === b.nodeType && a.nodeName === b.nodeName && (a.id || "") === (b.id || "") && kept(a) === kept(b);
  }

  // The node from `place` on that stands for `wanted`: by its id wherever it is, else only the very next one.
  function match(place, wanted) {
    while (place && kept(place) && !kept(wanted)) place = place.nextSibling;
    let found = place;
    while (found && wanted.id && !alike(found, wanted)) found = found.nextSibling;
    return found && alike(found, wanted) ? found : null;
  }

  function attributes(now, next) {
    for (const { name } of [...now.attributes]) {
      if (!next.hasAttribute(name) && !(now.nodeName === "DETAILS" && name === "open")) now.removeAttribute(name);
    }
    for (const { name, value } of next.attributes) {
      if (now.getAttribute(name) !== value) now.setAttribute(name, value);
    }
  }

  function morph(now, next) {
    if (now.nodeType !== Node.ELEMENT_NODE) {
      if (now.nodeValue !== next.nodeValue) now.nodeValue = next.nodeValue;
      return;
    }
    if (kept(now)) return;
    attributes(now, next);
    if (now.nodeName === "TEXTAREA") return;
    let place = now.firstChild;
    const dropUntil = (end) => {
      while (place !== end) {
        const gone = place;
        place = place.nextSibling;
        if (!kept(gone)) gone.remove();
      }
    };
    for (const wanted of [...next.childNodes]) {
      const found = match(place, wanted);
      if (found) {
        dropUntil(found);
        place = found.nextSibling;
        morph(found, wanted);
      } else {
        now.insertBefore(document.importNode(wanted, true), place);
      }
    }
    dropUntil(null);
  }

  function say(text) {
    if (stale.textContent !== text) stale.textContent = text;
    stale.hidden = !text;
  }

  async function refresh() {
    let answer;
    try {
      answer = await fetch(document.body.dataset.live, { headers: { "X-Live": "1" }, signal: AbortSignal.timeout(10000) });
    } catch {
      say(`The node does not answer: this is what was known at ${last.toLocaleTimeString()}.`);
      return;
    }
    if (answer.status === 401) {
      say("You are signed out: run smc web for a new link. This page no longer changes.");
      document.body.removeAttribute("data-live");
      return;
    }
    if (!answer.ok) {
      say(`The node has a problem (${answer.status}): this is what was known at ${last.toLocaleTimeString()}.`);
      return;
    }
    const next = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const idle of next.querySelectorAll("noscript")) idle.remove(); // the parser takes it for part of the page
    last = new Date();
    say("");
    document.title = next.title;
    morph(document.body, next.body);
    document.dispatchEvent(new Event("changed"));
  }

  async function watch() {
    while (document.body.hasAttribute("data-live")) {
      await new Promise((resolve) => setTimeout(resolve, INTERVAL));
      if (!document.hidden) await refresh();
    }
  }

  watch();
})();
