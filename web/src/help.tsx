// SPDX-License-Identifier: MIT
// help.tsx - the keys.
import { useLayoutEffect, useRef } from "preact/hooks";

const keys: [string, string][] = [
  ["1 … 0, t, l, c, b", "the views, in their order; the block that was opened last"],
  ["/", "find a name, or a /regular expression/"],
  ["Enter, Shift+Enter", "the next hit, the one before; outside the box also n, N"],
  ["arrows or w a s d", "from frame to frame, in a flame graph"],
  ["Enter", "opens a frame or a name"],
  ["Backspace", "one level out of a frame"],
  ["Ctrl + wheel", "into the frame below the pointer, and out"],
  ["m", "the menu of a frame or a name: select, exclude, fold, prune, root"],
  ["u", "undo: back to what was shown before"],
  ["?", "this page"],
];

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
      <p>All that you see is in the address: copy it to send it, go back to undo.</p>
      <button onClick={close}>close</button>
    </dialog>
  );
}
