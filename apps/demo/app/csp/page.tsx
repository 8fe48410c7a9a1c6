/** The lab under a strict Content Security Policy, which `proxy.ts` sets: everything in it works without inline styles. */
export { default, metadata } from "../lab/page.tsx";
