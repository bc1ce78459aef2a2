// Saves each click at once. Without this script the buttons of the form do all of it.
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
      answer = await fetch(form.action, { method: "POST", body: data, headers: { accept: "application/json" } });
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
