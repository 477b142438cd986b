// SPDX-License-Identifier: Apache-2.0
// A function wherever it occurs in a tree of stacks: the stacks that lead to it, and all that it calls.
import type { Node } from "./analyzer";

const fileOf = (node: Node) => node.place.replace(/:\d+$/, "");

function isSame(a: Node, b: Node): boolean {
  return a.name === b.name && fileOf(a) === fileOf(b);
}

function child(of: Node, like: Node): Node {
  let one = of.children.find((node) => node.name === like.name && node.place === like.place);
  if (!one) of.children.push(one = { ...like, bytes: 0, blocks: 0, found: 0, children: [] });
  return one;
}

function add(to: Node, from: Node) {
  to.bytes += from.bytes;
  to.blocks += from.blocks;
  to.found += from.found;
  for (const one of from.children) add(child(to, one), one);
}

function sort(node: Node) {
  node.children.sort((a, b) => b.bytes - a.bytes);
  node.children.forEach(sort);
}

/** Both begin with the function; recursive calls count once. */
export function sandwich(tree: Node, wanted: Node): { callers: Node; callees: Node } {
  const empty = (): Node => ({ ...wanted, bytes: 0, blocks: 0, found: 0, children: [] }), callers = empty(), callees = empty();
  const go = (node: Node, above: Node[]) => {
    if (!isSame(node, wanted)) {
      for (const one of node.children) go(one, [node, ...above]);
      return;
    }
    add(callees, node);
    let at = callers;
    for (const one of [node, ...above.slice(0, -1)]) { // without the root
      if (one !== node) at = child(at, one);
      at.bytes += node.bytes;
      at.blocks += node.blocks;
      at.found += node.found;
    }
  };
  go(tree, []);
  sort(callers);
  sort(callees);
  return { callers, callees };
}
