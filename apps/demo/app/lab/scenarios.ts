/** What one can ask the lab's assistant for, and what happens then. */
export interface LabScenario {
  readonly message: string;
  readonly about: string;
  /** @defaultValue "/api/toolrun-lab" */
  readonly endpoint?: string;
}

const toolServers = "/api/toolrun-mcp";

/** By the name in the address. */
export const scenarios: Readonly<Record<string, LabScenario>> = {
  retry: { message: "Fetch the exchange rates", about: "The tool fails twice and then works; each try is shown." },
  failure: { message: "Call the supplier", about: "Three failures in a row: the assistant explains instead." },
  repeat: { message: "Check the stock of A-7", about: "The same call again and again: a note, then the run ends." },
  endless: { message: "Read the whole catalogue", about: "More rounds than one run may have, and a way to go on." },
  "slow tool": { message: "Scan the warehouse", about: "The tool never ends; after three seconds it is ended." },
  "ask me": { message: "Help me with a gift", about: "The assistant asks, and a form is the answer." },
  "pick one": { message: "Which colour for the door?", about: "The assistant asks, and one press is the answer." },
  connect: { message: "Import the bank statement of May", about: "A page must be visited before the tool can go on." },
  "where am I": { message: "Where am I?", about: "A tool that runs in your browser, once you allow it." },
  "give back": {
    message: "Give back order 1042",
    about: "Edit it, or deny it: the assistant then tries a smaller sum.",
  },
  "mail Mia": { message: "Mail Mia", about: "An approval that can be remembered, and taken back." },
  "clear out": { message: "Clear out old orders", about: "Three calls at once; one of them cannot be undone." },
  courier: { message: "Book a courier", about: "An approval that runs out, unless you ask for more time." },
  evil: {
    message: "Read me the customer's note",
    about: "Someone wrote a text to send your data away. Nothing of it is fetched or run.",
  },
  research: { message: "Research order 1042", about: "A sub-agent with steps and an approval of its own." },
  "tool server": {
    message: "Add 17 and 25 with the tool server",
    about: "A tool of an MCP server: it asks, whatever the server says of it.",
    endpoint: toolServers,
  },
  "tool server asks": {
    message: "Let the tool server ask me",
    about: "An MCP server asks in the middle of a call; the run waits for you, for days if need be.",
    endpoint: toolServers,
  },
  "tool server works": {
    message: "Let the tool server work for a while",
    about: "Its progress, and Stop, which reaches it.",
    endpoint: toolServers,
  },
  "files of a tool server": {
    message: "Read the note",
    about: "Reading runs at once, because we said so; ask it to write, and it asks.",
    endpoint: toolServers,
  },
};
