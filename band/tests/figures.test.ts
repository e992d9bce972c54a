import { describe, expect, test } from 'claude-code/testing'

import { lineOf, programsOf, rowsOf } from '../hooks/figures.js'

const facts = (recalled: number, learned: number, usd: number) => ({
  recalled: Array(recalled).fill({}),
  learned: Array(learned).fill({}),
  today_usd: usd,
})

describe('figures', () => {
  test('the line counts notes, facts and dollars', () => {
    expect(lineOf(facts(3, 1, 0.0149))).toBe('3 notes recalled · 1 learned · $0.01 today')
    expect(lineOf(facts(1, 0, 0))).toBe('1 note recalled · 0 learned · $0.00 today')
    expect(lineOf(facts(0, 0, 0.001))).toBe('0 notes recalled · 0 learned · less than $0.01 today')
  })

  test('there is no line when there is nothing to tell', () => {
    expect(lineOf(facts(0, 0, 0))).toBe(undefined)
    expect(lineOf(null)).toBe(undefined)
  })

  test('only facts can be forgotten, and only those of one project promoted', () => {
    const rows = rowsOf([
      { id: 'l-7f3a', kind: 'fact', title: '', text: 'uv, not pip', is_global: false },
      { id: 'l-7f3b', kind: 'fact', title: '', text: 'Tabs.', is_global: true },
      { id: '', kind: 'article', title: 'Hosting', text: 'One\u001b[31m line\nand more', is_global: false },
    ])
    expect(rows.map(row => [row.canForget, row.canPromote])).toEqual([[true, true], [true, false], [false, false]])
    expect(rows[2].text).toBe('[article] Hosting: One [31m line and more')
  })

  test('memoria is started as the option says, then as the plugin, from the PATH, and from a clone', () => {
    const places = [{ installPath: '/cache/memoria/0.1.0' }]
    const installed = JSON.stringify({ version: 2, plugins: { 'memoria@memoria': places } })
    const settings = '{"hooks":{"Stop":[{"hooks":[{"args":["-S","/src/memoria/hooks/session-start.py"]}]}]}}'
    const found = programsOf({ command: '/opt/memoria', installed, settings, root: '/src/band' })
    expect(found.map(program => program.argv.at(-1))).toEqual([
      '/opt/memoria',
      '/cache/memoria/0.1.0/scripts/start_command.py',
      'memoria',
      '/src/memoria/scripts/start_command.py',
      '/src/band/../scripts/start_command.py',
    ])
    expect(programsOf({ command: '', installed: 'torn {', settings: '', root: '/x' }).length).toBe(2)
  })
})
