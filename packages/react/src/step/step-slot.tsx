"use client";

import { Component, type ReactNode } from "react";
import type { AnyStep } from "toolrun";
import { useStepContext } from "./step-context.ts";

interface BoundaryProps {
  readonly fallback: ReactNode;
  readonly children: ReactNode;
}

/** What cannot be drawn never takes the transcript down. */
export class SlotBoundary extends Component<BoundaryProps, { readonly failed: boolean }> {
  override state: { readonly failed: boolean } = { failed: false };

  static getDerivedStateFromError(): { readonly failed: boolean } {
    return { failed: true };
  }

  override render(): ReactNode {
    return this.state.failed ? this.props.fallback : this.props.children;
  }
}

/** What the app draws for a step; the app's `null` and the app's mistakes both give way to `children`. */
export function StepSlot(props: {
  readonly step: AnyStep;
  readonly render: (step: AnyStep) => ReactNode;
  readonly children: ReactNode;
}): ReactNode {
  const { strings } = useStepContext();
  const { step, render, children } = props;
  const fallback = (
    <>
      <p className="tr-muted">{strings.drawFailed}</p>
      {children}
    </>
  );
  return (
    // A step in another status gets another chance to be drawn.
    <SlotBoundary key={step.status} fallback={fallback}>
      <Drawn step={step} render={render} fallback={children} />
    </SlotBoundary>
  );
}

function Drawn(props: {
  readonly step: AnyStep;
  readonly render: (step: AnyStep) => ReactNode;
  readonly fallback: ReactNode;
}): ReactNode {
  return props.render(props.step) ?? props.fallback;
}
