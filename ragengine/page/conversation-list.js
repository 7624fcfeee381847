// The list of conversations at the side.

import { clearHistory } from "./api.js";
import { confirm, askText } from "./dialogs.js";
import { byId, element } from "./dom.js";
import { inOneLine } from "./errors.js";
import { setIcon } from "./icons.js";
import { toast } from "./toast.js";
import { withToken } from "./token.js";

/** Shows the list. `open(id)` is called for a chosen conversation, `current()` says which one is shown. */
export function setUpConversationList(conversations, { open, current }) {
  const list = byId("conversation-list");
  const show = () => {
    const focused = focusedPlace(list);
    list.replaceChildren(...conversations.all().map((conversation) => item(conversation)));
    byId("no-conversations").hidden = conversations.all().length > 0;
    restoreFocus(list, focused);
  };

  const item = ({ id, title, updated }) => {
    const isCurrent = id === current();
    const link = element(
      "a",
      {
        class: "conversation-link",
        href: `#chat=${id}`,
        title: `${title} · ${new Date(updated).toLocaleString()}`,
        "aria-current": isCurrent ? "page" : null,
        on: {
          click: (event) => {
            if (event.ctrlKey || event.metaKey || event.shiftKey) return;
            event.preventDefault();
            open(id);
          },
        },
      },
      title,
    );
    const rename = tool("pencil", "rename", `Rename “${title}”`, async () => {
      const name = await askText({
        title: "Rename the conversation",
        label: "Title",
        submit: "Rename",
        test: "rename-dialog",
        value: title,
        maxlength: 60,
      });
      if (name) conversations.rename(id, name);
    });
    const remove = tool("trash", "delete", `Delete “${title}”`, async () => {
      const text = `“${title}” and its messages are deleted, on the server, too. This cannot be undone.`;
      if (await confirm({ title: "Delete the conversation?", text, submit: "Delete" })) await deleteConversation(id);
    });
    return element(
      "li",
      { class: isCurrent ? "conversation current" : "conversation", test: "conversation", data: { id } },
      link,
      rename,
      remove,
    );
  };

  const deleteConversation = async (id) => {
    try {
      await withToken(() => clearHistory(id));
      conversations.remove(id);
      byId("new-chat").focus();
    } catch (error) {
      toast(`The conversation could not be deleted. ${inOneLine(error)}`);
    }
  };

  conversations.addEventListener("change", show);
  show();
  return { show };
}

function tool(iconName, test, label, press) {
  const button = element("button", {
    type: "button",
    class: "icon-button small tool",
    test,
    "aria-label": label,
    title: label,
    on: { click: press },
  });
  setIcon(button, iconName);
  return button;
}

/** Which conversation and which of its buttons has the focus. */
function focusedPlace(list) {
  const focused = document.activeElement;
  const item = focused?.closest?.("li");
  if (!item || !list.contains(item)) return null;
  return { id: item.dataset.id, position: [...item.children].indexOf(focused) };
}

/** The list is rebuilt when it changes: the focus goes back to where it was. */
function restoreFocus(list, place) {
  if (!place) return;
  const item = [...list.children].find(({ dataset }) => dataset.id === place.id);
  item?.children[place.position]?.focus({ preventScroll: true });
}
