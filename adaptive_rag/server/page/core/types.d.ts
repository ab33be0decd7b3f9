/** What /api/v1 sends, as far as the page reads it; /api/openapi.json describes all of it. And what the page's own parts share. */

/** The keys of the page's texts. */
type Words = keyof typeof import("../texts/en.js").en;
/** What is shown of an error; the server's own words are English. */
type Said = { text: string; lang?: string };
/** What the fields of a form hold, by their names. */
type Given = Record<string, any>;

type Role = "reader" | "writer" | "admin";
type Strategy = "factual" | "analytical" | "opinion" | "contextual";
type Me = { name: string; is_admin: boolean; role: Role; has_password: boolean };
type WaysIn = { needed: boolean; provider: boolean };
type Thread = {
  id: string;
  title: string;
  collection: string;
  created: string;
  updated: string;
  /** how many questions it has, where it is open */
  length?: number;
};
type Decision = { what: string; chosen: unknown; why: string };
type Span = { source: string; page: number | null; start: number; end: number };

interface Collection {
  name: string;
  description: string;
  examples: { question: string; user_context: string; type: Strategy | null }[];
  role: Role;
  documents: number;
  chunks: number;
  bytes: number;
  created: string;
}

interface DocumentRow {
  id: string;
  name: string;
  state: "waiting" | "indexed" | "failed";
  bytes: number;
  chunks: number | null;
  problem: string | null;
  notes: string[];
  added: string;
  sources?: string[];
}

/** Where a span stands in its document; what its kind of file has. */
interface Place {
  mail?: string;
  attachment?: string;
  page?: number;
  slide?: number;
  sheet?: string;
  row?: number;
  cells?: string[];
  cell?: number;
  time?: string;
  section?: string;
  lines?: number[];
}

interface Citation extends Span {
  marker: number;
  place: Place;
  quote: string;
  ocr_confidence?: number;
  also_as?: string[];
}

interface Candidate extends Span {
  id: string;
  section: string | null;
  text: string;
  parts?: { id: string; start: number; end: number }[];
}

interface Analysis {
  type: Strategy;
  probabilities: Record<Strategy, number>;
  decided_by: "local" | "hedge" | "model" | "caller";
  reason: string;
  alternatives: Strategy[];
}

interface TraceRecord {
  step?: string;
  ms?: number;
  calls?: number;
  tokens?: Record<string, number>;
  cost?: number;
  queries?: string[];
  candidates?: { id: string; source: string; page: number | null; scores: Record<string, number> }[];
  decisions?: Decision[];
  stand_ins?: { skill: string; reason: string }[];
}

interface Answer {
  answer: string;
  citations: Citation[];
  query_type: Strategy;
  analysis: Analysis;
  confidence: number | null;
  grounding: number;
  abstained: boolean;
  documents: Candidate[];
  trace: TraceRecord[];
}

/** What every question goes through: the first step, one strategy or two that are joined, the last step. */
interface Strategies {
  first: string;
  strategies: { name: Strategy; purpose: string; colour: string; steps: string[] }[];
  join: string;
  last: string;
}

type Overlap = { in_all: string[]; only: Record<string, string[]> };

/** One question answered by two strategies. */
interface Comparison {
  columns: { name: Strategy; answer: Answer; calls: number; ms: number }[];
  passages: Overlap;
  sentences: Overlap;
  places: Record<string, Span>;
}

/** What a person thinks of an answer. */
type Vote = { id: string; is_good?: boolean | null; better_route?: Strategy | null };

/** What chooses the strategy, and what votes have taught it. */
interface Router {
  is_learned: boolean;
  votes: number;
  routes: number;
  least: number;
  learned: string | null;
  lesson: {
    is_kept: boolean;
    learned_from: number;
    kept_aside: number;
    before: { accuracy: number };
    after: { accuracy: number };
    others_before: number;
    others_after: number;
  } | null;
}

interface StepEvent {
  id: string;
  name: string;
  /** "hedge" of the step that joins two strategies */
  strategy: Strategy | "hedge" | null;
  state: "started" | "finished";
  record?: TraceRecord;
}

/** How a question is asked; without a route its kind is found out. */
type How = { userContext?: string; route?: Strategy; documents?: string[] };

/** A question on the page, with what has come of it so far. */
interface Turn {
  /** a name of the page's own */
  key: string;
  collection: string;
  question: string;
  userContext: string;
  route?: Strategy;
  /** the names of those that are searched; none where all are */
  documents: string[];
  state: "running" | "answered" | "stopped" | "failed";
  steps: StepEvent[];
  analysis?: Analysis;
  passages: Candidate[];
  draft: string;
  answer?: Pick<Answer, "answer" | "citations" | "query_type" | "abstained"> & Partial<Answer>;
  problem?: { status: number; message: string; retryAfter?: number };
  /** its place in a thread that the server keeps, from 1 */
  number?: number;
  thread?: string;
  /** what was thought of it when the thread was opened */
  vote?: Vote | null;
}
