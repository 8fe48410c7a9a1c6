import ipaddr from "ipaddr.js";
import { DefiniteFailure } from "../agent/tool.ts";

/** Where a tool's requests may go. */
export interface Reach {
  /** When given, no other host is asked, by a redirect either. With a port where it is not the usual one. */
  readonly hosts: readonly string[] | undefined;
  /** A host of the app's own network: it may have any address, and speak plain http. */
  readonly privateHost: string | undefined;
  /** Plain http to any host. */
  readonly allowHttp: boolean;
}

/** Looks a name up: every address it has now. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

/** Names that mean the machine itself or a network behind it, whatever they resolve to. */
const INNER_NAMES =
  /(^|\.)(localhost|local|internal|intranet|corp|home|lan|home\.arpa|localdomain|test|invalid|onion)$/;

/** Public by its number, and yet a cloud's own service for its machines. */
const INNER_ADDRESSES: readonly string[] = ["168.63.129.16"];

/**
 * Refuses an address by what it says: another scheme, a password, a host that is not allowed, a name or a number of a
 * network that is not the public one. The URL parser has made one form of every way to write a number.
 * @throws DefiniteFailure: nothing was sent
 */
export function checkAddress(url: URL, reach: Reach): void {
  const isPrivate = url.host === reach.privateHost;
  if (url.protocol !== "https:" && !(url.protocol === "http:" && (reach.allowHttp || isPrivate))) {
    throw refused(`${url.protocol}// is not allowed`);
  }
  if (url.username !== "" || url.password !== "") throw refused("it holds a name or password");
  if (isPrivate) return;
  if (reach.hosts && !reach.hosts.includes(url.host)) throw refused("the host is not on the list");
  const address = literalOf(url.hostname);
  if (address !== undefined) {
    if (!isPublic(address)) throw refused("the address is not public");
    return;
  }
  const name = url.hostname.replace(/\.$/, "");
  if (!name.includes(".") || INNER_NAMES.test(name)) throw refused("the host is not public");
}

/**
 * What a name stands for now, every address of it checked. Connecting to one of exactly these leaves no moment in
 * which the name could come to mean something else.
 * @throws DefiniteFailure when one of them is not public
 */
export async function checkedAddresses(url: URL, reach: Reach, resolve: Resolve): Promise<readonly string[]> {
  const literal = literalOf(url.hostname);
  if (literal !== undefined) return [literal]; // checked by checkAddress
  const addresses = await resolve(url.hostname);
  if (addresses.length === 0) throw new TypeError("The name has no address.");
  if (url.host !== reach.privateHost && !addresses.every(isPublic)) throw refused("the address is not public");
  return addresses;
}

/** A host that is a number: without the brackets of IPv6 and the dot that may end it. */
function literalOf(hostname: string): string | undefined {
  const bare = hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");
  return ipaddr.isValid(bare) ? bare : undefined;
}

/**
 * IPv4 that is wrapped in IPv6 counts as what is inside; every special range is none of the public ones. Of IPv6 only
 * what is given out for the internet counts, 2000::/3: the rest holds old ways to wrap an address.
 */
function isPublic(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const known = ipaddr.process(address);
  const [first = 0] = "parts" in known ? known.parts : [0x2000];
  return known.range() === "unicast" && first >> 13 === 1 && !INNER_ADDRESSES.includes(known.toString());
}

function refused(why: string): DefiniteFailure {
  return new DefiniteFailure(`The request was not sent: ${why}.`, { retry: false });
}
