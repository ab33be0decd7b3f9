/** The parts of /api/v1 that the page reads (/api/openapi.json describes all of it), and types that its modules share. */

/** The message of an error. `lang` is set if it is not in the reader's language. */
type Message = { text: string; lang?: string };
/** The values of a form's fields, by name. */
type FormValues = Record<string, any>;

/** A name of the server's table of roles. */
type Role = string;
/** A name of the server's table of actions. */
type Action = string;
/** A name of the server's table of strategies. */
type Strategy = string;
type Me = { name: string; is_admin: boolean; roles: Role[]; has_password: boolean; has_model: boolean };
type SignInMethods = { needed: boolean; provider: boolean };
type Thread = {
  id: string;
  title: string;
  collections: string[];
  created: string;
  updated: string;
  /** its owner, if it is somebody else's */
  shared_by?: string | null;
  is_shared?: boolean;
  /** where a search has found it */
  found?: { turn: string; excerpt: { text: string; is_match: boolean }[] } | null;
  /** the number of its questions; set for the open thread */
  length?: number;
};
/** A text of the server itself: a code with its values, and its English words. */
type Phrase = { code: string; values: Record<string, any>; text: string; heading?: boolean };
/** A part of an answer: text, a phrase of the server, or a mark. The marks of a draft have a marker only. */
type AnswerPart = Partial<Phrase> & { text: string; citation?: number; marker?: number };
type Decision = { what: string; chosen: unknown; why: string; reasons?: Phrase[]; alpha?: number };
type Span = { source: string; page: number | null; start: number; end: number };

interface Collection {
  name: string;
  description: string;
  examples: { question: string; user_context: string; type: Strategy | null }[];
  role: Role;
  may: Action[];
  /** the roles that the user may give to others in it */
  roles: Role[];
  documents: number;
  chunks: number;
  bytes: number;
  created: string;
}

interface DocumentRow {
  id: string;
  name: string;
  state: "waiting" | "indexed" | "failed";
  is_being_indexed: boolean;
  bytes: number;
  chunks: number | null;
  problem: string | null;
  notes: string[];
  added: string;
  /** in search results: a note of the user's own that matches */
  found_note?: string | null;
  sources?: string[];
}

/** A note of the user's own. Its place is null if the document no longer has its words. */
interface Note {
  id: string;
  source: string;
  start: number | null;
  end: number | null;
  place: Place | null;
  quote: string;
  text: string;
}

/** Where a span is in its document. Which fields are set depends on the kind of file. */
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
  reasons: Phrase[];
  alternatives: Strategy[];
  is_personal: boolean;
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
  stand_ins?: { skill: string; reason: string; reasons?: Phrase[] }[];
  unreachable?: string[];
}

interface Answer {
  turn?: string;
  number?: number | null;
  parts: AnswerPart[];
  citations: Citation[];
  query_type: Strategy;
  analysis: Analysis;
  confidence: number | null;
  grounding: number;
  abstained: boolean;
  documents: Candidate[];
  trace: TraceRecord[];
}

/** The steps of every question: the first step, one strategy or two that are joined, the last step. */
interface Strategies {
  first: string;
  strategies: {
    name: Strategy;
    purpose: string;
    colour: string;
    steps: string[];
    shows_views: boolean;
    uses_situation: boolean;
  }[];
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

/** The user's opinion of an answer. */
type Vote = { id: string; is_good?: boolean | null; better_route?: Strategy | null };

/** The chat model, without its key. */
interface ModelSettings {
  set_by: "operator" | "admin" | null;
  provider: string | null;
  name: string | null;
  address: string | null;
  key: "stored" | "environment" | "none" | "unreadable";
  has_operators_address: boolean;
  providers: {
    name: string;
    install: string | null;
    takes_key: boolean;
    has_operators_key: boolean;
    takes_address: boolean;
  }[];
}

/** The router, which chooses the strategy, and what it has learned from votes. */
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
  /** "hedge" for the step that joins two strategies */
  strategy: Strategy | null;
  state: "started" | "finished";
  record?: TraceRecord;
}

/** How to ask a question. */
type AskOptions = { userContext?: string; only?: Scope };

/** The documents that are asked: by name, below folders, and those that fulfil a condition. All if nothing is given. */
type Scope = { documents: string[]; folders: string[]; where: string };
/** A field that a condition can name, with its most frequent values. */
type ConditionField = { name: string; kind: string; values: (string | number | boolean)[] };

/** A question on the page, with its results so far. */
interface Turn {
  /** an id that only the page uses */
  key: string;
  collections: string[];
  question: string;
  userContext: string;
  only: Scope;
  state: "running" | "answered" | "stopped" | "failed";
  steps: StepEvent[];
  analysis?: Analysis;
  passages: Candidate[];
  draft: string;
  answer?: Pick<Answer, "parts" | "citations" | "query_type" | "abstained"> & Partial<Answer>;
  problem?: { status: number; message: string; retryAfter?: number };
  /** its id in the thread that stores it, and its position, from 1, if the thread is the user's own */
  id?: string;
  number?: number;
  thread?: string;
  /** the user's vote when the thread was opened */
  vote?: Vote | null;
}
