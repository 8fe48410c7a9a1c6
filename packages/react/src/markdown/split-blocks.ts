/** Starts of HTML that goes on over empty lines, each with its end. */
const htmlBlocks: readonly (readonly [start: RegExp, end: RegExp])[] = [
  [/^ {0,3}<(?:script|pre|style|textarea)(?:[\s>]|$)/i, /<\/(?:script|pre|style|textarea)>/i],
  [/^ {0,3}<!--/, /-->/],
  [/^ {0,3}<\?/, /\?>/],
  [/^ {0,3}<![a-z]/i, />/],
  [/^ {0,3}<!\[CDATA\[/, /\]\]>/],
];
const listItem = /^ {0,3}(?:[-+*]|\d{1,9}[.)])(?:\s|$)/;
const fence = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})/;
const definition = /^[\s>]*\[[^\]]+\]:/;
const empty = /^[ \t]*$/;

/**
 * Cuts Markdown at the empty lines between its blocks, so that only the last one changes while text streams. Rather too
 * seldom than too often: each block has to mean on its own what it means in the whole text.
 */
export function splitBlocks(markdown: string): readonly string[] {
  const lines = markdown.split(/\r\n|\r|\n/);
  const blocks: string[] = [];
  let from = 0;
  let inList = false;
  let end: RegExp | undefined; // of a block in which no line means what it looks like
  for (const [index, line] of lines.entries()) {
    if (end) {
      if (end.test(line)) end = undefined;
      continue;
    }
    if (empty.test(line)) continue;
    if (definition.test(line)) return [markdown]; // links and footnotes reach into every other block
    const isIndented = /^\s/.test(line);
    const isItem = listItem.test(line);
    // Indented, it may belong to the item or the code above; and items make one list.
    if (empty.test(lines[index - 1] ?? "x") && !isIndented && !(inList && isItem)) {
      blocks.push(lines.slice(from, index).join("\n"));
      from = index;
      inList = false;
    }
    inList ||= isItem;
    // What an item holds ends with it, at the latest at a line that is not indented.
    if (!isItem && !(inList && isIndented)) end = endOf(line);
  }
  blocks.push(lines.slice(from).join("\n"));
  return blocks.filter((block) => !/^[ \t\n]*$/.test(block));
}

/** What ends the block that this line begins, if it goes on over empty lines. */
function endOf(line: string): RegExp | undefined {
  const mark = fence.exec(line)?.[1];
  if (mark) return new RegExp(`^ {0,3}${mark[0]}{${mark.length},}[ \\t]*$`);
  const html = htmlBlocks.find(([start]) => start.test(line));
  return html && !html[1].test(line) ? html[1] : undefined;
}
