// SPDX-License-Identifier: MIT
// live.tsx - a recording that is still written is read again and again, to its end.
import { useEffect, useRef, useState } from "preact/hooks";
import { forgetAnswers, readState, type LiveState } from "./model";

export interface Following {
  version: number; // 0: as it was when the page was opened
  live: boolean;
  end: LiveState["end"] | "unknown"; // unknown: the server does not answer any more
  before: boolean;
  paused: boolean;
  pause(paused: boolean): void;
}

const TRIES = 3; // one answer may be lost
const FIRST = 1; // the version that the page may have asked before its first question for the state

export function useLive(): Following {
  const [now, set] = useState<Omit<Following, "paused" | "pause">>({ version: 0, live: false, end: "", before: false });
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
            return version === last.version && s.live === last.live && s.end === last.end && s.before === last.before ? last : { ...s, version };
          });
          if (s.live) timer = window.setTimeout(look, 1000);
        },
        () => {
          if (ended) return;
          if (++failed < TRIES) timer = window.setTimeout(look, 1000);
          else set((last) => ({ ...last, live: false, end: last.live ? "unknown" : last.end }));
        },
      );
    void look();
    return () => {
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

export function Live({ live: { live, end, paused, pause } }: { live: Following }) {
  return (
    <>
      {live || paused ? (
        <button class={"live" + (paused ? " paused" : "")} aria-pressed={paused} onClick={() => pause(!paused)}>
          {paused ? "paused" : "live"}
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
