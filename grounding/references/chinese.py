"""How Chinese questions refer back to earlier ones."""

from grounding.references.grammar import NEVER, Grammar, pattern

CHINESE = Grammar(
    words=frozenset(),
    letters="",
    filler=pattern(r"(?:(?:好的?|谢谢|请问|嗯|对了|顺便问一下)[\s，,。！]*)+(?=\w)"),
    opening=pattern(
        r"""(?:那么|那(?!不勒斯|些|个|里|时|年|曲|种|样|位|天)|而(?!且)|但是?|可是|不过|或者|还是|以及|还有|为什么不|除此之外
        |否则)"""
    ),
    ellipsis=pattern(
        r"""(?:从|到|在|对|跟|和)?(?:为什么|为何|怎么|怎样|怎么样|怎么办|什么时候|何时|多久|多少钱?|几个|哪里|哪儿|谁|哪个|哪些
        |哪一个|多长时间|然后|后来|例如|比如|真的|是吗|具体)(?:开始|会|是|呢|吗|的|了|啊)*
        |(?!.*(?:什么|怎么|谁|哪|多少|几|为何|吗)).{1,12}(?:呢|的话)
        |.{0,8}也(?:一样|适用|如此|同样).{0,6}"""
    ),
    phrase=NEVER,
    verb=NEVER,
    few=0,
    anaphor=pattern(r"同样|其余的?|另一个|上述|前者|后者|刚才|上面|[你您](?:刚刚)?(?:说|提到)的?|别的"),
    # Words that contain a pronoun, times, and words that are no noun for a pronoun to refer to.
    expletive=pattern(
        r"""其[他它中实次间]|[尤极与]其|土耳其|吉他|马耳他|犹他|维他|利他|排他|他汀|他人|此外|因此|彼此|如此|此前|从此|应该|活该
        |该[不怎如何是有]|这(?:个(?:月|星期|世纪|周末|世界)|[一两几]?[年天周]|年头|份文件|些文件|个库)|那不勒斯|刹那
        |什么时候|为什么|什么|怎么|如何|多少|哪[里儿个些]?|谁|请问|可以|会|能|吗|呢|了|是|在|有|被|把|和|与|由"""
    ),
    pronoun=pattern(
        r"""[他她它]们?(?!的)|[这那](?:个|些|种|样|里|儿|时|份|项|条|家|位|本|座|部|次)?
        |该(?=公司|机构|合同|协议|人|国|书|产品|地区|城市|文件)|此(?=人|事|书|项|类|处|时|合同|规定)"""
    ),
    possessive=pattern(r"[他她它]们?的|其"),
    clause=pattern(r"[，,；;。？！、：]"),
    noun=pattern(r"[\u3400-\u9fff]{2,}|[A-Za-z]{2,}"),
)
