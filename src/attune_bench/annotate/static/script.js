// Saves each click at once; form.action would be the buttons of that name, not the address. Without this script the buttons of the form do all of it.
"use strict";
const form = document.querySelector("form.answers");
const asked = document.getElementById("asked");
if (asked) {
  const talk = asked.parentElement;
  talk.scrollTop = asked.offsetTop - talk.offsetTop - 20;
}
if (form) {
  const status = form.querySelector(".status");
  const revision = form.elements.revision;
  let changed = false;   // since the last request was sent
  let sending = null;    // the request that is under way
  let pressed = null;    // the button that waits for it
  let wait = 1000;       // milliseconds until the next try

  const save = async () => {
    changed = false;
    const data = new URLSearchParams(new FormData(form));
    data.set("action", "save");
    let answer;
    try {
      answer = await fetch(form.getAttribute("action"), { method: "POST", body: data, headers: { accept: "application/json" } });
    } catch {
      answer = null;
    }
    if (answer && answer.ok) {
      const said = await answer.json();
      revision.value = said.revision;
      status.textContent = said.message;
      wait = 1000;
    } else if (answer && answer.status === 409) {
      status.textContent = (await answer.json()).message;
      location.reload();
    } else if (answer && answer.status < 500 && answer.status !== 429) {
      location.reload();
    } else {
      changed = true;
      status.textContent = form.dataset.failed;
      await new Promise((done) => setTimeout(done, wait));
      wait = Math.min(2 * wait, 15000);
    }
  };

  const saveAll = async () => {
    while (changed) {
      sending = save();
      await sending;
    }
    sending = null;
    if (pressed) {
      const button = pressed;
      pressed = null;
      form.requestSubmit(button);
    }
  };

  form.addEventListener("change", () => {
    changed = true;
    if (!sending) saveAll();
  });
  form.addEventListener("submit", (event) => {
    // A request that is under way would make the revision of this form an old one.
    if (sending) {
      event.preventDefault();
      pressed = event.submitter;
      changed = false;
    }
  });
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
    status.textContent = said.message || sending.dataset.failed;
  };
  sending.addEventListener("submit", (event) => {
    if (event.submitter && event.submitter.value === "send") {
      event.preventDefault();
      send();
    }
  });
  if ("pending" in sending.dataset) send();
}
