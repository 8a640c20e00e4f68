import React, { useState } from "react";
import type { Props } from "./auth";

/** A button that logs in. */
export function LoginButton({ title, onClose }: Props & { busy?: boolean }): JSX.Element {
  const [open, setOpen] = useState(false);
  return <button onClick={() => setOpen(!open)}>{title}</button>;
}

export const Panel: React.FC<Props> = ({ title }) => <div className="panel">{title}</div>;
export const Memo = React.memo(function Memo(props: Props) { return <Panel {...props} />; });
