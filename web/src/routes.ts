// SPDX-License-Identifier: MIT
// routes.ts - the pages, in their groups: where each is, what it asks, and what shows it.
import type { FunctionComponent } from "preact";
import { CallersFlamePage, CallersTablePage } from "./callers";
import { ComparePage, CompareTools } from "./compare";
import { CompareFlamePage } from "./compare-flame";
import { FlamePage, FlameTools } from "./flame-page";
import { FlatPage, GroupsPage } from "./functions";
import { FunctionPage } from "./function-page";
import { GraphPage, GraphTools } from "./graph";
import { InstructionsPage, InstructionsTools } from "./instructions";
import { MemoryPage, MemoryTools } from "./memory";
import { hasAddresses, type Table } from "./model";
import { NoPage } from "./no-page";
import { OverviewPage } from "./overview";
import { SeriesPage, SeriesTools } from "./series";
import { SlowestPage, SlowestTools } from "./slowest";
import { SourcePage, SourceTools } from "./source";
import { StrandsPage, StrandsTools } from "./strands";
import type { State } from "./state";
import { samplesOf } from "./timeline";
import { TracksPage, TracksTools } from "./tracks";
import { TreePage } from "./tree-page";
import { hasWaits, WaitsPage, WaitsTools } from "./waits";

export interface Page {
  view: string;
  as: string; // which of the pages of its view
  title: string; // among those of its group
  question: string; // that it answers
  show: FunctionComponent;
  tools?: FunctionComponent; // what can be chosen on it, for the bar
  has?: (header: Table, compares: boolean) => boolean; // without: every profile has it
  alone?: boolean; // only links lead to it
}

export interface Group {
  title: string;
  pages: Page[];
}

// Is there any of it in the profile?
const any = (name: string) => (header: Table) => header.rows.some((r) => header.text(r, "name") === name && (header.number(r, "number") ?? 0) > 0);
const compared = (_: Table, compares: boolean) => compares;

export const groups: Group[] = [
  {
    title: "Overview",
    pages: [
      { view: "overview", as: "", title: "Overview", question: "What ran, and what matters most?", show: OverviewPage },
      { view: "", as: "", title: "No page", question: "Which page does the address mean?", show: NoPage, alone: true },
    ],
  },
  {
    title: "Flame",
    pages: [
      { view: "flame", as: "", title: "Calls", question: "Where does it go, from the root on? Each frame is as wide as what it cost, with all that it called.", show: FlamePage, tools: FlameTools },
      { view: "callers", as: "", title: "Callers", question: "Which functions cost most themselves, and who called them? Each function, and below it its callers.", show: CallersFlamePage },
    ],
  },
  {
    title: "Functions",
    pages: [
      { view: "flat", as: "", title: "List", question: "Which functions cost most, themselves (self) and with all that they called (total)?", show: FlatPage },
      { view: "tree", as: "", title: "Tree", question: "On which paths of calls does it go? Each function below its caller.", show: TreePage },
      { view: "callers", as: "table", title: "Callers", question: "Who called what costs most? Each function, and below it its callers.", show: CallersTablePage },
      { view: "groups", as: "", title: "Recursion", question: "Which functions call each other in a ring? Each ring is taken as one.", show: GroupsPage },
      { view: "block", as: "", title: "Function", question: "Who calls this function, what does it call, and what does that cost?", show: FunctionPage, alone: true },
    ],
  },
  { title: "Graph", pages: [{ view: "graph", as: "", title: "Graph", question: "Which functions call which? Each box is larger the more it costs itself, each arrow thicker the more its calls cost.", show: GraphPage, tools: GraphTools }] },
  {
    title: "Source",
    pages: [
      { view: "lines", as: "", title: "Source", question: "Which lines of the sources cost most, and which never ran?", show: SourcePage, tools: SourceTools },
      { view: "assembly", as: "", title: "Instructions", question: "Which lines and which instructions of a function cost most themselves? What belongs together is marked together.", show: InstructionsPage, tools: InstructionsTools, has: hasAddresses },
    ],
  },
  { title: "Threads", pages: [{ view: "strands", as: "", title: "Threads", question: "What did each thread, process or rank do, and how evenly is the work shared?", show: StrandsPage, tools: StrandsTools }] },
  { title: "Waits", pages: [{ view: "waits", as: "", title: "Waits", question: "For which locks, pipes and children did threads wait, and which functions made them wait?", show: WaitsPage, tools: WaitsTools, has: hasWaits }] },
  { title: "Memory", pages: [{ view: "space", as: "", title: "Memory", question: "What was allocated, and by which functions?", show: MemoryPage, tools: MemoryTools, has: any("space") }] },
  {
    title: "Time",
    pages: [
      { view: "timeline", as: "", title: "Use", question: "When was how much used, by which thread, process or function?", show: TracksPage, tools: TracksTools, has: (header) => samplesOf(header) > 0 },
      { view: "series", as: "", title: "Over time", question: "How did it change while the program ran?", show: SeriesPage, tools: SeriesTools, has: any("series") },
      { view: "slowest", as: "", title: "Single calls", question: "Which single calls of a marked function took longest?", show: SlowestPage, tools: SlowestTools, has: any("activations") },
    ],
  },
  {
    title: "Compare",
    pages: [
      { view: "diff", as: "", title: "Functions", question: "Which functions cost more or less than before, or in a range of time than else?", show: ComparePage, tools: CompareTools, has: compared },
      { view: "diff", as: "flame", title: "Flame", question: "Where has the cost of paths changed, since before or in a range of time? Red costs more, blue less.", show: CompareFlamePage, tools: CompareTools, has: compared },
      { view: "diff", as: "tree", title: "Tree", question: "On which paths did the cost change?", show: ComparePage, tools: CompareTools, has: compared },
    ],
  },
];

const pages = groups.flatMap((g) => g.pages);

// The page of an address; an unknown view has one that says so.
export function pageOf(state: State): Page {
  const of = pages.filter((p) => p.view === state.view);
  return of.find((p) => p.as === (state.words.as ?? "")) ?? of[0] ?? pages.find((p) => !p.view)!;
}

export const groupOf = (page: Page) => groups.find((g) => g.pages.includes(page))!;

export const isThere = (page: Page, header: Table | null, compares: boolean) => !page.has || (header !== null && page.has(header, compares));

// The pages of a group that can be chosen, the one that is shown among them.
export const pagesOf = (group: Group, shown: Page, header: Table | null, compares: boolean) => group.pages.filter((p) => p === shown || (!p.alone && isThere(p, header, compares)));

export const wordsOf = (page: Page): Record<string, string> => (page.as ? { as: page.as } : {});
