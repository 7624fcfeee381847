// The page: puts its parts together.

import { Composer } from "./composer.js";
import { setUpConversationList } from "./conversation-list.js";
import { ConversationView, loadAnswers } from "./conversation-view.js";
import { Conversations } from "./conversations.js";
import { byId } from "./dom.js";
import { Drawer } from "./drawer.js";
import { setUpDrop } from "./drop.js";
import { errorElement } from "./error-view.js";
import { setIcon } from "./icons.js";
import { Indexes } from "./indexes.js";
import { RunningElsewhere } from "./running.js";
import { Follower } from "./scroll.js";
import { isSessionId, newSessionId } from "./session-id.js";
import { setUpTheme } from "./theme.js";
import { toast } from "./toast.js";
import { Welcome } from "./welcome.js";

const NEW_CHAT = "New chat";

const conversations = new Conversations();
const indexes = new Indexes();
const running = new RunningElsewhere();
const drawer = new Drawer();
const transcript = byId("transcript");
const follower = new Follower(transcript, byId("jump-to-latest"));
const welcome = new Welcome(indexes, { ask, addDocuments: () => addDocuments([]) });
const composer = new Composer({ submit: ask, stop: () => view.stop() });
/** Conversations whose answers run while another conversation is shown. */
const background = new Map();
let view = null;
let panel = null;
let upload = null;

const list = setUpConversationList(conversations, { open: openConversation, current: () => view?.id });

function newView(id) {
  const created = new ConversationView(id, transcript, { openSource: openSource, indexOf: () => indexes.current });
  created.addEventListener("asked", ({ detail: { question, index } }) => {
    conversations.touch(id, question, index);
    if (created === view) {
      setAddress(id, "replace");
      showTitle();
      welcome.element.remove();
      follower.toEnd();
      // A suggestion that was pressed is gone now: the focus must not start again at the top of the page.
      if (document.activeElement === document.body) transcript.focus({ preventScroll: true });
    }
  });
  created.addEventListener("busy", () => {
    running.set(id, created.isBusy);
    if (!created.isBusy) background.delete(id);
    if (created === view) showState();
  });
  created.addEventListener("messages", () => created === view && showMessages());
  return created;
}

function showView(next) {
  if (view?.isBusy) background.set(view.id, view);
  view = next;
  panel?.close();
  transcript.replaceChildren(view.element);
  follower.watch(view.element);
  showTitle();
  showState();
  list.show();
}

function showTitle() {
  const title = conversations.find(view.id)?.title ?? NEW_CHAT;
  byId("chat-title").textContent = title;
  document.title = title === NEW_CHAT ? "RAGEngine" : `${title} – RAGEngine`;
}

function showState() {
  composer.setState(view.isBusy ? "answering" : running.has(view.id) ? "elsewhere" : "ready");
}

function showMessages() {
  if (view.isEmpty) {
    transcript.prepend(welcome.element);
    welcome.show();
    follower.toStart();
  } else {
    welcome.element.remove();
    follower.toEnd();
  }
}

function startChat({ address = "push", focus = true } = {}) {
  showView(newView(newSessionId()));
  showMessages();
  if (address) setAddress(null, address);
  drawer.close();
  if (focus) composer.focus();
}

function openConversation(id, { address = "push" } = {}) {
  drawer.close();
  if (address) setAddress(id, address);
  if (view?.id === id) return;
  const known = conversations.find(id);
  indexes.choose(known?.index);
  const kept = background.get(id);
  showView(kept ?? newView(id));
  if (kept) showMessages();
  else view.load(known?.index);
}

// The id is behind `#`, because that part of an address is not sent to servers and is in no log.
function setAddress(id, how) {
  const address = id ? `#chat=${id}` : location.pathname;
  if (how === "replace" || location.hash === (id ? address : "")) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
}

function followAddress() {
  const id = /^#chat=(.+)$/.exec(location.hash)?.[1];
  if (isSessionId(id)) openConversation(id, { address: null });
  else startChat({ address: null, focus: false });
}

function ask(question) {
  if (view.isBusy || running.has(view.id)) return false;
  const asked = view;
  // A question that is faster than the list of indexes waits for it, because it has to name one.
  indexesKnown.then(() => asked.ask(question));
  return true;
}

// The panel and the dialog for files are loaded when they are needed first.
async function openSource(source, sources, index, opener) {
  const { DocumentPanel } = await import("./document-panel.js").catch(notLoaded);
  panel ??= new DocumentPanel(byId("document-panel"));
  panel.open(source, sources, index, opener);
}

async function addDocuments(files) {
  const { openUpload } = await import("./upload.js").catch(notLoaded);
  if (upload?.dialog.open) upload.add(files);
  else upload = openUpload(indexes, files, showAdded);
}

async function showAdded(index) {
  await loadIndexes();
  indexes.choose(index);
  if (view.isEmpty) welcome.show();
}

function notLoaded(error) {
  toast("A part of this page could not be loaded. Check that the server runs.");
  throw error;
}

async function loadIndexes() {
  try {
    await indexes.load();
  } catch (error) {
    if (view.isEmpty) welcome.showError(errorElement(error, () => (indexesKnown = loadIndexes())));
  }
}

conversations.addEventListener("change", ({ detail: { before } }) => {
  const wasKnown = before.some(({ id }) => id === view.id);
  const known = conversations.find(view.id);
  if (wasKnown && !known) {
    background.delete(view.id);
    view.stop();
    startChat({ address: "replace", focus: false });
  } else showTitle();
});

// Another tab has got an answer in this conversation.
running.addEventListener("change", ({ detail: { id, running: isRunning } }) => {
  if (id !== view.id) return;
  showState();
  if (!isRunning && !view.isBusy) view.load(conversations.find(id)?.index);
});

indexes.addEventListener("change", () => {
  if (view.isEmpty) welcome.show();
});

addEventListener("popstate", followAddress);
byId("new-chat").addEventListener("click", () => startChat());
byId("add-documents").addEventListener("click", () => addDocuments([]));
document.querySelector(".skip-link").addEventListener("click", (event) => {
  // The address would lose the conversation.
  event.preventDefault();
  composer.focus();
});
setIcon(byId("new-chat"), "add");
setIcon(byId("add-documents"), "upload");
setIcon(byId("jump-to-latest"), "arrowDown");
setUpTheme(byId("theme-toggle"));
setUpDrop(addDocuments);

let indexesKnown = loadIndexes();
followAddress();
if (matchMedia("(pointer: fine)").matches) composer.focus();
// The libraries come after the first paint, before the first answer.
requestAnimationFrame(() =>
  setTimeout(
    () =>
      loadAnswers().then(
        ({ prepare }) => prepare(),
        () => {},
      ),
    200,
  ),
);
