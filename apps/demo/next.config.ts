import type { NextConfig } from "next";

// One secret for both runtimes: Next hands process.env to the edge sandbox and to Node alike. Set both yourself where
// several processes answer at one address: each would mint its own.
process.env.SHOP_TOKEN ||= crypto.randomUUID();
process.env.STORE_TOKEN ||= crypto.randomUUID();

const config: NextConfig = {
  // Next blocks /_next/* for unknown hosts in dev: without this, http://127.0.0.1 never hydrates.
  allowedDevOrigins: ["127.0.0.1"],
};

export default config;
