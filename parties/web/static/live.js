// Keeps a page up to date that names its news in data-news: the node says when something has changed, the page is asked
// for anew, and idiomorph brings what is shown to what came, so that focus, selection, open details and whatever has been
// typed stay as they are. Elements with data-keep change when a person has done something only. Forms with data-here are
// sent from where one is, and the answer is brought in the same way.
"use strict";

(() => {
  const AGAIN = 1000; // ms
  const stale = document.getElementById("stale");
  let last = new Date();
  let source = null;

  const filledIn = (node) => ["INPUT", "SELECT", "TEXTAREA"].includes(node.nodeName) && node.type !== "hidden";

  // `byPerson`: in answer to a form, so that what was typed has been taken and messages are news.
  function bring(text, byPerson) {
    const next = new DOMParser().parseFromString(text, "text/html");
    for (const idle of next.querySelectorAll("noscript")) idle.remove(); // the parser takes it for part of the page
    document.title = next.title;
    const kept = (node) => !byPerson && node.nodeType === Node.ELEMENT_NODE && node.hasAttribute("data-keep");
    Idiomorph.morph(document.body, next.body, {
      callbacks: {
        beforeNodeMorphed: (now) => !kept(now) && (byPerson || !filledIn(now)) && now !== stale,
        beforeNodeRemoved: (now) => !kept(now),
        beforeAttributeUpdated: (name, node, change) => !(name === "open" && node.nodeName === "DETAILS" && change === "remove"),
      },
    });
    last = new Date();
    document.dispatchEvent(new Event("changed"));
  }

  function say(text) {
    if (stale.textContent !== text) stale.textContent = text;
    stale.hidden = !text;
  }

  async function refresh() {
    if (!document.body.dataset.news) return;
    const then = `this is what was known at ${last.toLocaleTimeString()}.`;
    try {
      const answer = await fetch(location.href, { headers: { "X-Live": "1" }, signal: AbortSignal.timeout(10000) });
      if (answer.status === 401) {
        say("You are signed out: run smc web for a new link. This page no longer changes.");
        document.body.removeAttribute("data-news");
      } else if (answer.ok) {
        say("");
        bring(await answer.text(), false);
        return;
      } else {
        say(`The node has a problem (${answer.status}): ${then}`);
      }
    } catch {
      say(`The node does not answer: ${then}`);
    }
    setTimeout(refresh, AGAIN);
  }

  // Only while somebody may look: a browser has few connections to one address.
  function listen() {
    if (source) source.close();
    source = null;
    const address = document.body.dataset.news;
    if (document.hidden || !address) return;
    source = new EventSource(address);
    source.onmessage = refresh;
    source.onerror = () => {
      refresh();
      if (source.readyState === EventSource.CLOSED) setTimeout(listen, AGAIN);
    };
  }

  async function send(form) {
    const row = form.closest(".row");
    const next = row?.nextElementSibling?.id || row?.previousElementSibling?.id;
    const button = form.querySelector("button");
    button.disabled = true; // one decision is one request
    try {
      const body = new URLSearchParams(new FormData(form));
      const answer = await fetch(form.action, { method: "POST", body, signal: AbortSignal.timeout(30000) });
      bring(await answer.text(), true);
    } catch {
      say("The node does not answer: it is not known whether this was done.");
    }
    button.disabled = false;
    if (document.activeElement !== document.body) return;
    const there = document.querySelector("[role=alert] button") || document.querySelector(`#${CSS.escape(next || "none")} a`);
    (there || document.getElementById("said") || document.getElementById("main")).focus();
  }

  document.addEventListener("submit", (event) => {
    if (!event.target.hasAttribute("data-here")) return;
    event.preventDefault();
    send(event.target);
  });
  document.addEventListener("visibilitychange", listen);
  listen();
})();
