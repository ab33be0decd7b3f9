/** What draws: templates, hooks, and state that components follow. */
import { computed, effect, signal } from "@preact/signals-core";
import htm from "htm";
import { Component, h, render } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

export const html = htm.bind(h);
export { Component, computed, effect, render, signal, useEffect, useLayoutEffect, useMemo, useRef, useState };

/** Return what `ref` keeps an element in, null until it is drawn. @returns {{ current: any }} */
export const useElement = () => useRef(null);

/**
 * Return a signal's value, and draw the component again whenever it changes.
 * @template T
 * @param {{ readonly value: T }} followed @returns {T}
 */
export function useSignal(followed) {
  const [value, setValue] = useState(() => followed.value);
  useEffect(() => effect(() => setValue(() => followed.value)), [followed]);
  return value;
}

/** Return what counts how often something has changed, and what tells of one more time. @returns {[number, () => void]} */
export function useVersion() {
  const [version, setVersion] = useState(0);
  return [version, () => setVersion((before) => before + 1)];
}

/** Return what takes the value of a field at an event of it. @param {(value: string) => unknown} take */
export const onValue = (take) => (/** @type {any} */ event) => take(event.target.value);

/** Return what opens and closes below a button: Escape closes it, and the button has the focus again. */
export function useDisclosure() {
  const [isOpen, setOpen] = useState(false);
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

/** Join the names of classes that hold. @param {...(string | false | null | undefined)} names */
export function classes(...names) {
  return names.filter(Boolean).join(" ");
}
