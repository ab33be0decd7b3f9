/** Rendering: templates, hooks, and signals that components subscribe to. */
import { computed, effect, signal } from "@preact/signals-core";
import htm from "htm";
import { Component, h, render } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

export const html = htm.bind(h);
export { Component, computed, effect, render, signal, useEffect, useLayoutEffect, useMemo, useRef, useState };

/** Return a ref for an element; `current` is null until it is rendered. @returns {{ current: any }} */
export const useElement = () => useRef(null);

/**
 * Return a signal's value, and rerender the component when it changes.
 * @template T
 * @param {{ readonly value: T }} source a signal @returns {T}
 */
export function useSignal(source) {
  const [value, setValue] = useState(() => source.value);
  useEffect(() => effect(() => setValue(() => source.value)), [source]);
  return value;
}

/** Return a count of changes, and a function that increments it. @returns {[number, () => void]} */
export function useVersion() {
  const [version, setVersion] = useState(0);
  return [version, () => setVersion((previous) => previous + 1)];
}

/** Return an event handler that passes the field's value to `onChange`. @param {(value: string) => unknown} onChange */
export const onValue = (onChange) => (/** @type {any} */ event) => onChange(event.target.value);

/** Return the state of a panel that a button opens. Escape closes the panel and focuses the button. */
export function useDisclosure(startsOpen = false) {
  const [isOpen, setOpen] = useState(startsOpen);
  const button = useElement();
  const close = () => {
    setOpen(false);
    button.current.focus();
  };
  /** @param {KeyboardEvent} event */
  const onKeyDown = (event) => {
    if (event.key !== "Escape" || !isOpen) return;
    event.stopPropagation();
    close();
  };
  return { isOpen, toggle: () => setOpen(!isOpen), close, button, onKeyDown };
}

/** Join class names, leaving out those that are false or empty. @param {...(string | false | null | undefined)} names */
export function classes(...names) {
  return names.filter(Boolean).join(" ");
}
