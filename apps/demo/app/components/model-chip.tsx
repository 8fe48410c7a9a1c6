"use client";

import type { ReactNode } from "react";
import useSWR from "swr";
import styles from "./model-chip.module.css";

interface ModelInfo {
  readonly label: string;
  readonly scripted: boolean;
}

/** Says in one honest line who answers: a script, or which model. */
export function ModelChip(): ReactNode {
  const { data, error } = useSWR<ModelInfo, Error>("/api/demo/model", fetchModel, { revalidateOnFocus: false });
  const words = data
    ? data.scripted
      ? "Offline demo. A script plays the model; tools and approvals are real."
      : `${data.label}. Tools, approvals and database are real.`
    : (error?.message ?? "");
  return (
    <p className={styles.chip} data-state={error ? "error" : data?.scripted ? "scripted" : "real"}>
      {words || "\u00a0"}
    </p>
  );
}

async function fetchModel(url: string): Promise<ModelInfo> {
  const response = await fetch(url);
  const body: unknown = await response.json();
  if (isModelInfo(body)) return body;
  throw new Error(messageOf(body) ?? `The demo answered ${response.status}.`);
}

function isModelInfo(body: unknown): body is ModelInfo {
  return typeof body === "object" && body !== null && "label" in body && "scripted" in body;
}

function messageOf(body: unknown): string | undefined {
  if (typeof body !== "object" || body === null || !("error" in body)) return undefined;
  const { error } = body;
  return typeof error === "object" && error !== null && "message" in error ? String(error.message) : undefined;
}
