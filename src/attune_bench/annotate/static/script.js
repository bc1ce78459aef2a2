// Saves each click at once. Without this script the buttons of the form do all of it.
"use strict";
const form = document.querySelector("form.answers");
let typed = false;       // since the last request was sent, in a field that was not left
const asked = document.getElementById("asked");
if (asked) {
  const talk = asked.parentElement;
  talk.scrollTop = asked.offsetTop - talk.offsetTop - 20;
}
if (form) {
  const status = form.querySelector(".status");
  const revision = form.elements.revision;
  let changed = false;   // since the last request was sent
  let sending = false;   // whether a request is under way
  let pressed = null;    // the button that waits for it
  let wait = 1000;       // milliseconds until the next try

  const press = (button) => {
    pressed = null;
    button.form.requestSubmit(button);
  };

  const save = async () => {
    typed = changed = false;
    const body = new URLSearchParams(new FormData(form));
    body.set("action", "save");
    let answer = null;
    try {
      // form.action would be the buttons of that name. A browser keeps no long request alive when the page is left.
      answer = await fetch(form.getAttribute("action"), {
        method: "POST", body, keepalive: body.toString().length < 60000, headers: { accept: "application/json" },
      });
    } catch {
      // There is no connection.
    }
    if (answer && answer.ok) {
      const said = await answer.json();
      revision.value = said.revision;
      status.textContent = said.message;
      form.querySelector("[value=undo]")?.removeAttribute("hidden");
      wait = 1000;
    } else if (answer && answer.status < 500 && answer.status !== 429) {
      pressed = form.querySelector("[value=save]") || pressed;  // What is wrong is said by the page that this button brings.
      changed = false;
    } else {
      changed = true;
      status.textContent = form.dataset.failed;
      await new Promise((done) => setTimeout(done, wait));
      wait = Math.min(2 * wait, 15000);
    }
  };

  const saveAll = async () => {
    changed = true;
    if (sending) return;
    sending = true;
    while (changed) await save();
    sending = false;
    if (pressed) press(pressed);
  };

  // On a telephone a tap on an answer goes on to the next question; keys move through the answers of one question.
  const narrow = matchMedia("(max-width: 42rem)");
  let tapped = false;
  form.addEventListener("pointerdown", () => { tapped = true; });
  form.addEventListener("keydown", () => { tapped = false; });
  const goOn = (event) => {
    const field = event.target.closest(".field");
    if (!tapped || !narrow.matches || event.target.type !== "radio" || !field) return;
    const next = field.nextElementSibling;
    const behavior = matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
    if (next.matches(".field")) next.scrollIntoView({ behavior, block: "start" });
    else form.querySelector(".actions").scrollIntoView({ behavior, block: "nearest" });
  };

  form.addEventListener("change", (event) => {
    goOn(event);
    saveAll();
  });
  form.addEventListener("input", () => { typed = true; });
  document.addEventListener("visibilitychange", () => { if (document.hidden && typed) saveAll(); });
  addEventListener("submit", (event) => {
    // A request that is under way would make the revision of this form an old one.
    if (sending) {
      event.preventDefault();
      event.stopPropagation();
      pressed = event.submitter;
    }
  }, true);
}

// Shows the answer of a model while it comes.
const sending = document.querySelector("form.sending");
if (sending) {
  const status = sending.querySelector(".status");
  const show = (name, text) => {
    const said = sending.querySelector(name);
    said.hidden = !text;
    said.querySelector(".text").textContent = text;
  };
  const send = async () => {
    const data = new URLSearchParams(new FormData(sending));
    data.set("action", "send");
    typed = false;
    const buttons = [...sending.querySelectorAll("button")];
    for (const button of buttons) button.disabled = true;
    show(".sent", data.get("message") || "");
    status.textContent = sending.dataset.waiting;
    let said = {};
    try {
      const answer = await fetch(sending.getAttribute("action"), { method: "POST", body: data, headers: { accept: "application/json" } });
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        const lines = (rest + part.value).split("\n");
        rest = lines.pop();
        for (const line of lines) {
          said = JSON.parse(line);
          if (said.text) show(".coming", said.text);
        }
      }
    } catch {
      said = {};
    }
    if (said.done) {
      location.reload();
      return;
    }
    for (const button of buttons) button.disabled = false;
    show(".sent", "");
    show(".coming", "");
    status.textContent = said.message || sending.dataset.unanswered;
    typed = true;
  };
  sending.addEventListener("submit", (event) => {
    if (event.submitter && event.submitter.value === "send") {
      event.preventDefault();
      send();
    }
  });
  if ("pending" in sending.dataset) send();
}
