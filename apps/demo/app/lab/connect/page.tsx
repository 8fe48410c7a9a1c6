import type { Metadata } from "next";
import type { ReactNode } from "react";
import styles from "../lab.module.css";

export const metadata: Metadata = { title: "Connect your bank" };

/** Stands for a page of somebody else, where one signs in: secrets go there, never into the conversation. */
export default function ConnectPage(): ReactNode {
  return (
    <main className={styles.connect}>
      <h1>Connect your bank</h1>
      <p>A bank would ask you to sign in here. This one trusts you: you are connected.</p>
      <p>Close this tab, and tell the assistant that you have done it.</p>
    </main>
  );
}
