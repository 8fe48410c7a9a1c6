const by = (who: string | null): string => (who === null ? "" : ` by ${who}`);
const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const s = (count: number): string => (count === 1 ? "" : "s");

/** Every word the components show or speak, in English. Functions make plurals and sentences. */
export const en = {
  conversation: "Conversation",
  youSaid: "You said",
  assistantSaid: "Assistant",
  emptyTitle: "How can I help?",
  emptyText: "I can look things up on my own. Before I change anything, I ask you.",
  loading: "Loading the conversation…",
  jumpToLatest: "Jump to latest",
  attachment: "Attached file",
  source: "Source",
  reasoning: "Reasoning",
  copy: "Copy",
  copied: "Copied",
  table: "Table",
  footnotes: "Footnotes",
  ticked: "done",
  notTicked: "not done",
  image: (alt: string, host: string | undefined): string =>
    `image${alt === "" ? "" : `: ${alt}`}${host === undefined ? "" : ` — ${host}`}`,
  loadImage: "Load",

  messageLabel: "Message",
  placeholder: "Ask for something…",
  answeringPlaceholder: "A step needs your decision first…",
  send: "Send",
  sendAfterDeciding: "Send after deciding",
  denyAllAndSend: "Deny all and send now",
  stop: "Stop",
  stopping: "Stopping…",
  queuedMessage: "Waits for your decision",
  notSent: "Not sent.",

  thinking: "Thinking",
  writing: "Writing",
  calling: "Preparing a step",
  working: "Working",

  needsApproval: "Needs approval",
  needsAnswer: "Needs an answer",
  needsLink: "Needs you",
  needsBrowser: "Needs a browser",
  interrupted: "Interrupted",
  preparing: "Preparing",
  waiting: "Waiting",
  queued: "Queued",
  approvedQueued: "Approved, starting",
  running: "Running",
  stillWorking: "Still working",
  succeeded: "Done",
  failed: "Failed",
  notRun: { denied: "Denied", expired: "Expired", stopped: "Not run", skipped: "Skipped", blocked: "Blocked" },
  destructive: "Cannot be undone",

  approveOnce: "Approve once",
  approveWithChanges: "Approve with changes",
  approveDestructive: (title: string): string => `Approve: ${title}`,
  edit: "Edit…",
  deny: "Deny…",
  sending: "Sending…",
  requestedAt: (time: string): string => `Requested ${time}`,
  expiresIn: (span: string): string => `expires in ${span}`,
  keepWaiting: (span: string): string => `Keep waiting ${span}`,
  deniedBefore: (who: string | null): string =>
    who === null ? "This was denied before in this run." : `Denied before in this run by ${who}.`,
  readOnlyViewer: "Waiting for someone who may decide.",
  refused: "Not sent.",
  noArguments: "No arguments",

  denyLabel: "Tell the assistant why (optional)",
  denyReasons: ["Not now", "Wrong target", "Ask me first"] as readonly string[], // another language may offer more
  denyNow: "Deny",
  denyAndStop: "Deny and stop",
  denyRemember: "Don't ask again in this conversation",
  back: "Back",

  remember: "Don't ask again…",
  rememberTitle: "Approve, and don't ask again",
  forRun: "For this run",
  forThread: "For this conversation",
  sameArguments: "the same arguments",
  covers: (what: string, limits: string): string => `Covers: ${what}${limits === "" ? "" : `, ${limits}`}.`,
  usesLeft: (uses: number): string => `up to ${uses} more time${s(uses)}`,
  forPeriod: (span: string): string => `for ${span}`,

  grants: (count: number): string => `${count} remembered decision${s(count)}`,
  noGrants: "Nothing is remembered.",
  allowed: "Allowed",
  refusedAlways: "Denied",
  exactly: "With exactly these arguments",
  inRun: "for this run",
  inThread: "for this conversation",
  used: (used: number, uses: number | undefined): string =>
    uses === undefined ? `used ${used} time${s(used)}` : `used ${used} of ${uses} time${s(uses)}`,
  until: (time: string): string => `until ${time}`,
  decidedBy: (who: string | null, time: string): string => (who === null ? time : `by ${who}, ${time}`),
  revoke: "Revoke",
  revokeOf: (what: string): string => `Revoke: ${what}`,
  showGrant: "Show it",

  editing: (title: string): string => `${title}: editing`,
  reset: "Reset",
  resetField: (field: string): string => `Reset ${field}`,
  was: (value: string): string => `was ${value}`,
  changed: (count: number, total: number): string => `${count} of ${total} value${s(total)} changed`,
  needAttention: (count: number): string => `${count} field${s(count)} need${count === 1 ? "s" : ""} attention`,
  optional: "optional",
  yes: "Yes",
  no: "No",
  none: "None",
  jsonField: "JSON",
  listField: "One per line",
  invalidNumber: "Enter a number, for example 12.50.",
  invalidInteger: "Enter a whole number.",
  unsafeInteger: "This number is too large to be sent exactly.",
  invalidJson: "This is not valid JSON.",
  invalidEmail: "Enter a full email address, for example name@example.com.",
  invalidUrl: "Enter a full address, for example https://example.com.",
  missing: "Enter a value.",
  atLeast: (limit: number): string => `Must be at least ${limit}.`,
  atMost: (limit: number): string => `Must be at most ${limit}.`,
  moreThan: (limit: number): string => `Must be more than ${limit}.`,
  lessThan: (limit: number): string => `Must be less than ${limit}.`,
  longerThan: (limit: number): string => `Enter at least ${limit} character${s(limit)}.`,
  shorterThan: (limit: number): string => `Enter at most ${limit} character${s(limit)}.`,

  answerLabel: "Your answer",
  sendAnswer: "Send answer",
  skip: "Skip",
  retry: "Run again",
  done: "I have done this",
  openLink: (host: string): string => (host === "" ? "Open the page" : `Open ${host}`),
  newTab: "opens in a new tab",
  unsafeLink: "This link is not a web address and was not made clickable.",
  interruptedText: "The server stopped while this was running. It may have had its effect.",
  browserText: "This step runs in the browser.",
  browserHere: "This browser is doing it now.",
  browserElsewhere: "Another tab of this browser is doing it.",
  browserNowhere: "This page cannot do it. Open this conversation on a page or device that can, or skip the step.",

  input: "Arguments",
  output: "Result",
  partial: "Partial result",
  proposed: "As the assistant proposed it",
  of: (value: number, max: number): string => `${value} of ${max}`,
  log: "Log",
  earlierLines: (count: number): string => `${count} earlier line${s(count)}`,
  details: "Details",
  drawFailed: "Could not draw this result.",
  attempt: (attempt: number): string => `attempt ${attempt}`,
  retrying: "Trying again",
  retryingIn: (span: string): string => `Next try in ${span}`,
  tryingAgain: (attempt: number): string => `Attempt ${attempt}`,
  lastError: (message: string): string => `Last: ${message}`,
  effectUnknown: "It may have had its effect all the same.",
  errors: {
    "invalid-input": "The arguments did not fit this step. The assistant was told.",
    "unknown-tool": "This step is not available.",
    "tool-error": "This step failed.",
    "timed-out": "This step took too long and was ended.",
    stopped: "Stopped.",
    failed: "This step failed.",
    interrupted: "The server stopped while this was running.",
    unresolved: "It asked for the same thing again after that was answered.",
  },

  approvedBy: (who: string | null, changes: number): string =>
    `Approved${by(who)}${changes === 0 ? "" : ` with ${changes} change${s(changes)}`}`,
  deniedBy: (who: string | null, reason: string | undefined): string =>
    `Denied${by(who)}${reason ? `: ${reason}` : ""}`,
  answeredBy: (who: string | null, answer?: string): string =>
    `Answered${by(who)}${answer === undefined ? "" : `: ${answer}`}`,
  ranInBrowser: "Done in the browser",
  retriedBy: (who: string | null): string => `Run again${by(who)}`,
  skippedBy: (who: string | null): string => `Skipped${by(who)}`,
  expiredAt: (time: string): string => `Expired at ${time}. It was not run, and the assistant was told.`,
  autoApproved: (who: string | null): string =>
    who === null ? "Approved by an earlier decision." : `Approved earlier by ${who}.`,
  autoDenied: (who: string | null, reason: string | undefined): string =>
    `${who === null ? "Denied by an earlier decision" : `Denied earlier by ${who}`}${reason ? `: ${reason}` : "."}`,
  along: "(together with another step)",
  you: "you",

  showAll: (characters: number): string => `Show all (${characters.toLocaleString("en")} characters)`,
  showLess: "Show less",
  moreItems: (count: number): string => `${count} more`,
  emptyString: "empty text",
  emptyList: "empty list",
  emptyObject: "empty",
  hiddenCharacters: (count: number): string => `Contains ${count} hidden character${s(count)}`,
  hiddenExplained: "They are shown as codes, because text can look like something it is not. Check before you approve.",
  reveal: "I have checked them",

  pending: (count: number): string => `${count} step${s(count)} need${count === 1 ? "s" : ""} you`,
  review: "Review",
  batch: (open: number, decided: number): string =>
    `${open} step${s(open)} need${open === 1 ? "s" : ""} your decision${decided === 0 ? "" : ` · ${decided} decided`}`,
  approveAll: (count: number): string => `Approve ${count}`,
  denyAll: "Deny all",
  steps: (count: number): string => `${count} step${s(count)}`,
  childSteps: (done: number, total: number): string => `${done} of ${total} step${s(total)} done`,
  needsYou: (count: number): string => (count === 1 ? "Needs you" : `${count} need you`),

  limits: {
    turns: "The limit of rounds was reached.",
    calls: "The limit of steps was reached.",
    tokens: "The token limit was reached.",
    time: "The time limit was reached.",
    repeats: "The assistant was going in circles: the same step with the same arguments, again and again.",
    failures: "Too many steps failed in a row.",
    depth: "Assistants called each other too deep.",
    completion: "The answer did not pass its check, and there are no tries left.",
    "log-size": "This conversation is full. Start a new one.",
  },
  nothingLost: "Nothing was lost.",
  continue: "Continue",
  stoppedBy: (who: string | null): string => `Stopped${by(who)}.`,
  runFailed: "Something went wrong and the assistant stopped.",
  runCodes: {
    "model-failed": "The model did not answer.",
    "model-timed-out": "The model took too long to answer.",
    "model-truncated": "The model's answer broke off.",
    "tools-failed": "The assistant's tools could not be loaded.",
    "request-too-short": "The server cut this off twice before it could finish.",
  } as Readonly<Record<string, string>>, // a server may name codes this version does not know
  reference: (reference: string): string => `Reference ${reference}`,
  offline: "You are offline. The assistant goes on working on the server.",
  reconnecting: "Connection lost. The assistant goes on working on the server.",
  nextTry: (attempt: number, span: string): string => `Attempt ${attempt}, next in ${span}`,
  retryNow: "Retry now",
  removed: "This conversation is not here. It may have been removed.",
  dismiss: "Dismiss",

  timeline: "Timeline",
  noTimeline: "Nothing has run yet.",
  round: (round: number): string => `Round ${round}`,
  inAll: (span: string): string => `${span} in all`,
  waited: (span: string): string => `waited ${span}`,
  tokens: (input: number, output: number): string =>
    `${input.toLocaleString("en")} tokens in, ${output.toLocaleString("en")} out`,

  announceApprovals: (titles: readonly string[]): string =>
    titles.length === 1 ? `Approval needed: ${titles[0]}.` : `${titles.length} approvals needed. Press F8 to review.`,
  announceNeeded: (titles: readonly string[]): string =>
    titles.length === 1 ? `Needs you: ${titles[0]}` : `${titles.length} steps need you. Press F8 to review.`,
  announceApproved: (title: string): string => `${title} approved.`,
  announceDenied: (title: string, who: string | null): string => `${title} denied${by(who)}.`,
  announceExpired: (title: string): string => `Approval expired. ${title} was not run.`,
  announceExpires: (title: string, span: string): string => `${title} expires in ${span}.`,
  announceExtended: (title: string, span: string): string => `${title}: waits ${span} from now.`,
  announceFailed: (title: string, message: string): string => `${title} failed: ${message}`,
  announceReply: (text: string): string => `Assistant replied: ${text}`,
  fullReply: "Full reply in conversation.",
  announceLost: "Connection lost, reconnecting.",
  announceBack: "Reconnected.",
  announceRestored: (pending: number): string =>
    `Restored. ${pending} step${s(pending)} need${pending === 1 ? "s" : ""} you.`,
  announceStopped: "Stopped.",
  documentPending: (count: number, title: string): string => `(${count}) Approval needed · ${title}`,
  documentNeeded: (count: number, title: string): string => `(${count}) Needs you · ${title}`,
  documentDone: (title: string): string => `✓ Done · ${title}`,

  /** How long something took: `0.3 s`, `14 s`, `2 min 5 s`. */
  span: (ms: number): string => (ms < 9_950 ? `${(Math.max(ms, 0) / 1000).toFixed(1)} s` : wholeSeconds(ms)),
  /** A clock that runs: never fractions. */
  seconds: (ms: number): string => wholeSeconds(ms),
  minutes: (ms: number): string => `${Math.ceil(ms / 60_000)} min`,
  /** A length that was set, exactly: `90 s`, `10 min`, `1 h`, `7 days`. */
  period: (ms: number): string => {
    if (ms > day && ms % day === 0) return `${ms / day} days`;
    if (ms % hour === 0) return `${ms / hour} h`;
    return ms % minute === 0 ? `${ms / minute} min` : `${Math.ceil(ms / 1000)} s`;
  },
  /** A moment, with its day unless that is today. */
  time: (at: number): string => {
    const date = new Date(at);
    const isToday = date.toDateString() === new Date().toDateString();
    const on = isToday ? {} : ({ day: "numeric", month: "short" } as const);
    return date.toLocaleString("en-GB", { ...on, hour: "2-digit", minute: "2-digit" });
  },
};

function wholeSeconds(ms: number): string {
  const seconds = Math.round(Math.max(ms, 0) / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

/** The shape of `en`. Give a part of it to `<ToolRunChat strings>`; the rest stays English. */
export type Strings = Readonly<typeof en>;
