// Documentation of the server as elements: headings, paragraphs, lists, tables and code. Never as markup.
import { Fragment, type ReactNode } from 'react';
import { Link } from 'react-router';
import styles from './Markdown.module.css';

export function Markdown({ text }: { text: string }) {
  return (
    <article className={styles.text}>
      {blocks(text).map((block, index) => (
        <Fragment key={index}>{drawn(block)}</Fragment>
      ))}
    </article>
  );
}

/** Paragraphs and fenced code, in order. */
export function blocks(text: string): string[] {
  const found: string[] = [];
  let open: string[] = [];
  let isFenced = false;
  for (const line of text.split('\n')) {
    if (line.startsWith('```')) isFenced = !isFenced;
    if (line.trim() === '' && !isFenced) {
      if (open.length > 0) found.push(open.join('\n'));
      open = [];
    } else open.push(line);
  }
  if (open.length > 0) found.push(open.join('\n'));
  return found;
}

function drawn(block: string): ReactNode {
  const lines = block.split('\n');
  const heading = /^(#{1,4}) (.*)/.exec(block);
  if (heading) return heading[1] === '#' ? null : <h2>{inline(heading[2] ?? '')}</h2>;
  if (block.startsWith('```')) return <pre className={styles.code}>{lines.slice(1, -1).join('\n')}</pre>;
  if (block.startsWith('- '))
    return (
      <ul>
        {items(block).map(item => (
          <li key={item}>{inline(item)}</li>
        ))}
      </ul>
    );
  if (block.startsWith('|')) return <Rows lines={lines} />;
  return <p>{inline(lines.join(' '))}</p>;
}

function items(block: string): string[] {
  return block.split(/\n(?=- )/).map(item => item.slice(2).replaceAll(/\n\s*/g, ' '));
}

function Rows({ lines }: { lines: string[] }) {
  const cells = (line: string) =>
    line
      .split('|')
      .slice(1, -1)
      .map(cell => cell.trim());
  const [head = '', , ...rest] = lines;
  return (
    <div className="scroll-x">
      <table>
        <thead>
          <tr>
            {cells(head).map((cell, index) => (
              <th scope="col" key={index}>
                {inline(cell)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rest.map(line => (
            <tr key={line}>
              {cells(line).map((cell, index) => (
                <td key={index}>{inline(cell)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Code, strong text and links. A link leads to another page of an error code, or stays text. */
function inline(text: string): ReactNode[] {
  return text.split(/(`[^`]+`|\*\*[^*]+\*\*|\[[^\]]+\]\([^)]+\))/).map((part, index) => {
    if (part.startsWith('`')) return <code key={index}>{part.slice(1, -1)}</code>;
    if (part.startsWith('**')) return <strong key={index}>{part.slice(2, -2)}</strong>;
    const link = /^\[([^\]]+)\]\(([^)]+)\)$/.exec(part);
    if (!link) return part;
    const [, name = '', to = ''] = link;
    const code = /^([a-z_-]+)\.md$/.exec(to)?.[1];
    return code ? (
      <Link key={index} to={`/help/${code}`}>
        {inline(name)}
      </Link>
    ) : (
      <Fragment key={index}>{inline(name)}</Fragment>
    );
  });
}
