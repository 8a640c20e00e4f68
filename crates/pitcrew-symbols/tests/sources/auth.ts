import fs from "node:fs";
import * as path from 'path';
import Default, { Token as Ticket, type Claims } from "../core/token";
import "./polyfill";
import legacy = require("./legacy");
export { encode, decode as unpack } from "./codec";
export * from "./errors";

/** How long a token lives. */
export const LIFETIME_MS: number = 60_000;
let counter = 0, total: number;

/**
 * Validates tokens.
 * @deprecated
 */
@Injectable({ providedIn: "root" })
export abstract class AuthValidator<T extends Claims = Claims> extends Base<T> implements Validator {
  static readonly DEFAULT = new Map<string, number>();
  private key: string;
  protected cache?: Record<string, T> = {};
  #secret = 1;
  /** Calls back. */
  onExpire = async (token: Ticket): Promise<void> => { await 1; };

  constructor(private readonly store: Store, options: Options = {}) {
    super();
  }

  /** Validates. */
  @Log()
  public async validate(
    token: string, // the token
    { strict = true }: { strict?: boolean } = {},
  ): Promise<T | null> {
    const local = 1;
    function inner() {}
    return null;
  }
  protected abstract refresh(): void;
  get size(): number { return 0; }
  static create<U>(this: new () => U): U { return new this(); }
  private _hidden() {}
}

export interface Options extends Partial<Base<string>> {
  readonly issuer: string;
  audience?: string[];
  /** Tells whether. */
  accepts(token: string): boolean;
  [key: string]: unknown;
  (input: string): number;
}

export type Result<T> = { ok: true; value: T } | { ok: false; reason: string };
export type Props = {
  title: string;
  onClose?: () => void;
};
export enum Reason { Expired = "expired", Forged = "forged" }
const enum Small { A, B = 2 }

export function check(token: string): token is Ticket;
export function check(token: unknown): boolean {
  return true;
}
export const fetchUser = async <T,>(id: string, retries = 3): Promise<T> => {
  return null as any;
};
export const routes = {
  login: (name: string) => name,
  async logout() {},
  limit: 3,
};
export default class extends AuthValidator {}

namespace Internal {
  export function helper(): void {}
  const secret = 1;
}
declare module "express" {
  interface Request { user?: string }
}
declare global {
  interface Window { auth: AuthValidator }
}
declare const VERSION: string;
declare function ambient(a: number): void;
function local() {}
function later() {}
export { later };

/** Hooks. */
export const { useGetUserQuery, useList: useAll = 1, ...rest } = api;
export const [first, second = 2] = pair;
export const ROLES = {
  administrator: "may do everything that there is to do in this place",
  visitor: "may look at what is shown to everybody, and at nothing else",
} as const;
export const Button = React.memo(function Button(props: Props, more: number) {
  return "something long enough to be cut off, as components mostly are";
});
class Point {
  constructor(public readonly x: number, private y = 1, readonly z: string, plain: number) {}
}
