export type { RunTimelineProps, TimelineRun } from "./timeline/run-timeline.tsx";
export { RunTimeline } from "./timeline/run-timeline.tsx";
