threen1 ; the 3n+1 workload in GT.M itself: no call-ins, one SET for each store
 ; $ZCMDLINE: integers or words. A line of input is a problem: start finish [workers [block]].
 ; Each answer is a line of NAME=VALUE, separated by blanks.
 new line,words
 set words=($zcmdline="words")
 for  read line quit:$zeof  if line'="" do problem(line,words)
 quit
 ;
problem(line,words) new begun,block,finish,index,ready,start,updates,reads,workers
 set start=+$piece(line," "),finish=+$piece(line," ",2)
 set workers=$piece(line," ",3),block=$piece(line," ",4)
 if start<1!(finish<start) write "error=the_range_is_reversed_or_empty",! quit
 if workers<1 set workers=1
 set index=finish-start+workers\workers
 if block<1!(block>index) set block=index
 kill ^step,^block,^longest,^largest,^worker
 set ^block=0,^longest=0,^longest("start")=0,^largest=0,^largest("start")=0
 lock ^go
 for index=1:1:workers do
 . job work^threen1(index,start,finish,block,words):(output="/dev/null":error="/dev/null")
 for  set ready=0 do  quit:ready=workers  hang 0.01
 . for index=1:1:workers set ready=ready+$data(^worker(index))
 set begun=$zut
 lock
 for index=1:1:workers lock +^running(index) lock -^running(index)
 set begun=$zut-begun/1E6,(reads,updates)=0
 for index=1:1:workers do
 . if '$data(^worker(index,"ended")) write "error=a_worker_died " quit
 . set reads=reads+^worker(index,"reads"),updates=updates+^worker(index,"updates")
 write "start=",start," finish=",finish," workers=",workers," block=",block
 write " longest=",^longest," longest_start=",^longest("start")
 write " largest=",^largest," largest_start=",^largest("start")
 write " elapsed_s=",begun," updates=",updates," reads=",reads,!
 quit
 ;
work(worker,start,finish,block,words) ; a process: blocks until there are none left
 new claimed,first,last,number,reads,updates,longest,largest,value,word
 for number=0:1:9 do
 . set word(number)=$piece("zero eins deux tres quattro пять ستة सात 捌 ஒன்பது"," ",number+1)
 . set value(word(number))=number
 set (reads,updates,longest,largest)=0
 lock +^running(worker)
 set ^worker(worker)=$job
 lock +^go
 lock -^go
 for  set claimed=$increment(^block),first=claimed-1*block+start quit:first>finish  do
 . set last=first+block-1
 . if last>finish set last=finish
 . for number=first:1:last do from(number)
 set ^worker(worker,"reads")=reads,^worker(worker,"updates")=updates
 set ^worker(worker,"ended")=1
 lock
 quit
 ;
from(start) ; the sequence from one start
 new at,depth,key,number,path,peak,steps
 set depth=0,number=start,peak=0,steps=0
 for  set reads=reads+1 quit:number=1  do  quit:at'=""
 . set key=$$spell(number),at=$get(^step(key))
 . quit:at'=""
 . set depth=depth+1,path(depth)=key
 . set number=$select(number#2:3*number+1,1:number\2)
 . if number>peak set peak=number
 if number'=1 set steps=$$count(at)
 ; the largest number goes before the steps that led to it, or a killed run would lose it
 if peak>largest set largest=$$raise("^largest",peak,start)
 set updates=updates+depth
 for depth=depth:-1:1 set steps=steps+1,^step(path(depth))=$$spell(steps)
 if steps>longest set longest=$$raise("^longest",steps,start)
 quit
 ;
raise(name,number,start) ; sets a maximum, with the lowest start that has it, and says what it is
 new now
 tstart ():(serial:transaction="BATCH")
 set now=@name
 if number>now!(number=now&(start<@name@("start"))) do
 . set @name=number,@name@("start")=start,now=number
 tcommit
 quit now
 ;
spell(number) ; the number, or its digits as words
 quit:'words number
 new index,text
 set text=word($extract(number))
 for index=2:1:$length(number) set text=text_" "_word($extract(number,index))
 quit text
 ;
count(text) ; what was spelled
 quit:'words text
 new index,number
 set number=""
 for index=1:1:$length(text," ") set number=number_value($piece(text," ",index))
 quit +number
