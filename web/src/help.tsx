// SPDX-License-Identifier: MIT
// help.tsx - the keys.
import { useLayoutEffect, useRef } from "preact/hooks";

const keys: [string, string][] = [
  ["1 … 9", "the groups of pages, in their order; again: the next page of the group"],
  ["/", "find part of a name, a glob* or a /regular expression/ in the whole profile; filter by it"],
  ["Enter, Shift+Enter", "the next hit on the page, the one before; outside the box also n, N"],
  ["arrows or w a s d", "from frame to frame, in a flame graph"],
  ["↑ ↓ PageUp PageDown", "from row to row of a table; Home and End: its first and last row"],
  ["Enter", "opens a frame or a name"],
  ["Backspace", "one level out of a frame"],
  ["Ctrl + wheel, + and -", "zoom in and out of a flame graph; drag, or Shift+← and Shift+→, moves it; 0 shows all"],
  ["m", "the menu of a frame or a name: open, only, hide, merge, charge to, cut, begin at, collapse"],
  ["l", "on the page of a function: its lines and instructions"],
  ["t", "the strip of time: arrows move the range, with Shift they resize it, + and - zoom, c compares it with the rest, Escape clears it"],
  ["+ - Shift+← Shift+→ Space", "on the flame chart of page Time: zoom, move the time, select the time of the box"],
  ["Alt+← Alt+→ Delete", "on a filter: move it, remove it"],
  ["u", "undo: back to what was shown before"],
  ["?", "this page"],
];

// For those that speak to the computer, or hit keys by accident.
const LETTERS = "tallytree.letters";

export function hasLetters(): boolean {
  try {
    return localStorage.getItem(LETTERS) !== "off";
  } catch {
    return true;
  }
}

function setLetters(on: boolean) {
  try {
    localStorage.setItem(LETTERS, on ? "on" : "off");
  } catch {
    // it is not kept
  }
}

export function Help({ close }: { close: () => void }) {
  const box = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => box.current?.showModal(), []);
  return (
    <dialog ref={box} class="help" onClose={close} aria-label="keys" onClick={(e) => e.target === box.current && close()}>
      <h2>Keys</h2>
      <dl>
        {keys.map(([key, text]) => (
          <div>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <p>
        Drag in the strip of time, and each page shows that range. Drag its edges, or all of it; double-click to zoom in.
      </p>
      <label class="check">
        <input type="checkbox" checked={hasLetters()} onChange={(e) => setLetters(e.currentTarget.checked)} /> keys of one letter
      </label>
      <p>
        What is shown is in the address: go back to undo. The address is of this machine, and of this start of <code>tallytree view</code>; <code>tallytree export --to html</code> makes a file that can be sent.
      </p>
      <button onClick={close}>close</button>
    </dialog>
  );
}
