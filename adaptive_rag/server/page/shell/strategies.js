/** The strategies of the server, and their colours. */
import { get } from "../core/api.js";
import { readOnce, useLoaded } from "./loaded.js";

const readStrategies = readOnce(/** @returns {Promise<Strategies>} */ () => get("/strategies"));

/** Return the server's strategies. They are read only once. */
export const useStrategies = () => useLoaded(() => readStrategies(0));

/** Return what the server says of a strategy; undefined until it is known. @param {Strategy} [name] */
export const useStrategy = (name) => useStrategies().value?.strategies.find((each) => each.name === name);

/** Return a function from a strategy to the style with its colour, darker or lighter so that it can be read. */
export function useLaneStyle() {
  const lanes = useStrategies().value?.strategies ?? [];
  return (/** @type {Strategy | null} */ name) => {
    const colour = lanes.find((lane) => lane.name === name)?.colour;
    const mixed = (/** @type {string} */ other) => `color-mix(in oklab, ${colour}, ${other})`;
    return {
      "--lane": colour ? `light-dark(${mixed("black 15%")}, ${mixed("white 40%")})` : "var(--accent)",
    };
  };
}
