/** Buttons that show an icon. Their words are the accessible name and the tooltip. */
import { classes, html } from "../core/html.js";

const PATHS = {
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  again: "M20 5v5h-5M19.5 10a8 8 0 1 0 .5 4",
  edit: "M4 20l1-5L16 4l4 4L9 19z",
  delete: "M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13",
  good: "M7 11v9H3v-9zm0 0 4-8c2 0 3 1 3 3v4h5a2 2 0 0 1 2 2l-2 7a2 2 0 0 1-2 1H7",
  bad: "M7 13v-9H3v9zm0 0 4 8c2 0 3-1 3-3v-4h5a2 2 0 0 0 2-2l-2-7a2 2 0 0 0-2-1H7",
};

/** @param {{ icon: keyof typeof PATHS, label: string, buttonRef?: any, class?: string } & Record<string, any>} props */
export const IconButton = ({ icon, label, buttonRef, ...rest }) => html`
  <button ...${rest} ref=${buttonRef} class=${classes("quiet icon", rest.class)} aria-label=${label} title=${label}>
  <svg width="18" height="18" viewBox="0 0 24 24" aria-hidden="true"><path d=${PATHS[icon]} /></svg></button>`;
