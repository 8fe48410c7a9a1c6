/** Text that platforms and proxies like to change: control characters, what looks like framing, any script. */
export const STRANGE_TEXT: string = [
  "tab\tnul\u0000bell\u0007 del\u007f",
  "line\nfeed\r\nreturn\rdouble\n\nend",
  "data: no event\n\nid: 99\n\n: no comment",
  "next\u0085line\u2028separator\u2029bom\ufeffend",
  "👩‍👩‍👧‍👦🏳️‍🌈 e\u0301 שלום مرحبا 日本語 \u{10ffff}",
  "</script><!-- \\u0000 \\n %00 &amp; `y`",
].join("|");

/** Half characters, as a model's tokens cut them: alone, and two that make one. */
export const HALF_CHARACTERS: readonly string[] = ["high \ud83d alone", "low \ude00 alone", "\ud83d", "\ude00"];

/** What a failing provider says, and a failing session database: it never leaves the server. */
export const SECRETS = {
  model: "sk-conformance at 10.0.0.7",
  signIn: "hunter2 at 10.0.0.8",
} as const;
