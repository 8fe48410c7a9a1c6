import { describe, expect, test } from "vitest";
import { errorTextOf, outputOf, toModel } from "../../../src/adapters/mcp-content.ts";

const file = (content: unknown) => outputOf({ content: [content] });

describe("the output of a call", () => {
  test("is a text where there is nothing else", () => {
    const content = [
      { type: "text", text: "a" },
      { type: "text", text: "b" },
    ];
    expect(outputOf({ content })).toBe("a\n\nb");
    expect(outputOf({ content: [] })).toBe("");
  });

  test("is the structured content where texts only say it once more", () => {
    expect(outputOf({ content: [{ type: "text", text: '{"a":1}' }], structuredContent: { a: 1 } })).toEqual({ a: 1 });
  });

  test("is its parts where there are files, resources or links, with the structured content beside them", () => {
    const content = [
      { type: "text", text: "see" },
      { type: "audio", data: "AAAA", mimeType: "audio/wav" },
      { type: "resource", resource: { uri: "a://1", text: "words" } },
      { type: "resource", resource: { uri: "a://2", blob: "AAAA", mimeType: "application/pdf" } },
      { type: "resource_link", uri: "a://3", name: "three" },
    ];
    expect(outputOf({ content, structuredContent: { n: 1 } })).toEqual({
      parts: [
        { type: "text", text: "see" },
        { type: "file", mediaType: "audio/wav", url: "data:audio/wav;base64,AAAA", name: undefined },
        { type: "text", text: "words", name: "a://1" },
        { type: "file", mediaType: "application/pdf", url: "data:application/pdf;base64,AAAA", name: "a://2" },
        { type: "link", url: "a://3", title: "three" },
      ],
      structuredContent: { n: 1 },
    });
  });

  test.each([
    [{ type: "odd" }, "[a part of a kind that is not known]"],
    [{ type: "image", data: "<script>", mimeType: "image/png" }, "[image/png: could not be read]"],
    [
      { type: "image", mimeType: "image/png", data: "A".repeat(300_000) },
      "[image/png, about 220 KB: too large to be kept]",
    ],
  ])("tells what cannot be kept: %#", (part, words) => {
    expect(file(part)).toBe(words);
  });

  test("takes no odd media type over into a URL", () => {
    const odd = { type: "image", data: "AAAA", mimeType: 'text/html,"><script>' };
    expect(file(odd)).toMatchObject({ parts: [{ url: "data:application/octet-stream;base64,AAAA" }] });
  });

  test.each([[null], ["text"], [[null, 3, "x"]], [{}]])("of %j is empty", (content) => {
    expect(outputOf({ content })).toBe("");
  });

  test("keeps files together within what a message may carry", () => {
    const image = { type: "image", data: "A".repeat(150_000), mimeType: "image/png" };
    expect(outputOf({ content: [image, image] })).toMatchObject({ parts: [{ type: "file" }, { type: "text" }] });
  });
});

describe("what the model reads", () => {
  test("is the same without the bytes of files", () => {
    const output = outputOf({ content: [{ type: "image", data: "AAAA", mimeType: "image/png" }] });
    expect(toModel(output)).toMatchObject({ parts: ["[image/png, about 1 KB; the person sees it]"] });
    expect(toModel("words")).toBe("words");
    expect(toModel({ parts: 3 })).toEqual({ parts: 3 });
  });
});

describe("a server's error", () => {
  test("is its words without lines of a stack", () => {
    const stack = "Locked.\n    at run (/srv/a.js:1:1)\nTry later.";
    expect(errorTextOf({ content: [{ type: "text", text: stack }] })).toBe("Locked.");
    expect(errorTextOf({ content: "?" })).toContain("not why");
    expect(errorTextOf({ content: [{ type: "text", text: "x".repeat(50_000) }] })).toHaveLength(2_000);
  });
});
