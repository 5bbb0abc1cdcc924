// SPDX-License-Identifier: MIT
// help.tsx - the keys.
import { useLayoutEffect, useRef } from "preact/hooks";

const keys: [string, string][] = [
  ["1 … 0, t, l, c, b", "the views, in their order; the block that was opened last"],
  ["/", "find part of a name, glob* or /regular expression/, in the whole profile"],
  ["Enter, Shift+Enter", "the next hit, the one before; outside the box also n, N"],
  ["arrows or w a s d", "from frame to frame, in a flame graph"],
  ["Enter", "opens a frame or a name"],
  ["Backspace", "one level out of a frame"],
  ["Ctrl + wheel", "into the frame below the pointer, and out"],
  ["m", "the menu of a frame or a name: select, exclude, fold, prune, root"],
  ["u", "undo: back to what was shown before"],
  ["?", "this page"],
];

// Whoever speaks to the computer, or hits keys by accident, has them off.
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
