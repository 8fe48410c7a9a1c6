import type { Metadata, Viewport } from "next";
import type { ReactNode } from "react";
import "@toolrun/react/ui.css";
import "./globals.css";

export const metadata: Metadata = {
  title: { default: "Shop", template: "%s · Shop" },
  description: "A small shop's back office with an assistant that asks before it acts.",
};

export const viewport: Viewport = {
  width: "device-width",
  initialScale: 1,
  colorScheme: "light dark",
};

export default function RootLayout({ children }: { readonly children: ReactNode }): ReactNode {
  return (
    <html lang="en">
      <body>{children}</body>
    </html>
  );
}
