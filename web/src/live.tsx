// SPDX-License-Identifier: MIT
// live.tsx - a recording that is still written is read again and again, to its end.
import { useEffect, useRef, useState } from "preact/hooks";
import { forgetAnswers, readState, type LiveState } from "./model";

export interface Following {
  version: number; // 0: as it was when the page was opened
  live: boolean;
  end: LiveState["end"] | "unknown"; // unknown: the server does not answer any more
  before: boolean;
  replaced: boolean;
  paused: boolean;
  pause(paused: boolean): void;
}

const TRIES = 3; // one answer may be lost
const FIRST = 1; // the version that the page may have asked before its first question for the state

export function useLive(): Following {
  const [now, set] = useState<Omit<Following, "paused" | "pause">>({ version: 0, live: false, end: "", before: false, replaced: false });
  const [paused, pause] = useState(false);
  const known = useRef<number>(); // the server's number of the version
  useEffect(() => {
    if (paused) return undefined;
    let timer = 0;
    let ended = false;
    let failed = 0;
    const look = () =>
      readState().then(
        (s) => {
          if (ended) return;
          failed = 0;
          const changed = (known.current ?? FIRST) !== s.version;
          known.current = s.version;
          if (changed) forgetAnswers();
          set((last) => {
            const version = last.version + Number(changed);
            // Nothing is drawn again for what is as before.
            return version === last.version && s.live === last.live && s.end === last.end && s.before === last.before && s.replaced === last.replaced ? last : { ...s, version };
          });
          clearTimeout(timer); // another look may have been faster
          if (s.live) timer = window.setTimeout(look, 1000);
        },
        () => {
          if (ended) return;
          if (++failed < TRIES) timer = window.setTimeout(look, 1000);
          else set((last) => ({ ...last, live: false, end: last.live ? "unknown" : last.end }));
        },
      );
    void look();
    // One comes back from the terminal in which the program has run again.
    const again = () => {
      clearTimeout(timer);
      void look();
    };
    window.addEventListener("focus", again);
    return () => {
      window.removeEventListener("focus", again);
      ended = true;
      clearTimeout(timer);
    };
  }, [paused]);
  return { ...now, paused, pause };
}

const ends = {
  ended: { text: "recording ended", about: "The program has ended, and this is all of its recording." },
  lost: { text: "recording not ended", about: "The program or the file is gone, and the recording was not ended. This is what was read last." },
  unknown: { text: "no answer", about: "tallytree view does not answer any more: this is what it showed last." },
};

export function Live({ live: { live, end, replaced, paused, pause } }: { live: Following }) {
  return (
    <>
      {live || paused ? (
        <button class={"live" + (paused ? " paused" : "")} aria-pressed={paused} onClick={() => pause(!paused)}>
          {paused ? "paused" : "live"}
        </button>
      ) : null}
      {replaced ? (
        <button class="replaced" title="Since it was read, another file has taken its place." onClick={() => location.reload()}>
          the file was replaced: show the new one
        </button>
      ) : null}
      {end && !live ? (
        <span class={"end " + end} role="status" title={ends[end].about}>
          {ends[end].text}
        </span>
      ) : null}
    </>
  );
}
