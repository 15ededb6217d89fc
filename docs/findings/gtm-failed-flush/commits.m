commits ; commits records in transactions of their own, from one number to another
 ; usage: mumps -run commits FIRST LAST [FIRST LAST …]; a word between runs that command
 new argument,first,last,number
 for argument=1:1 set first=$piece($zcmdline," ",argument) quit:first=""  do
 . if first'?1.n zsystem "./"_first quit
 . set argument=argument+1,last=$piece($zcmdline," ",argument)
 . for number=first:1:last do commit(number)
 ; no rundown: as when the machine fails
 if $zsigproc($job,9)
 quit
 ;
commit(number) ; goes on after an error
 new $etrap
 set $etrap="write ""commit "",number,"": "",$piece($zstatus,"","",3,5),! trollback:$tlevel"
 set $etrap=$etrap_"  set $ecode="""" quit"
 tstart ():serial
 set ^record(number)=$justify(number,20000)
 tcommit
 write "commit ",number," returned",!
 quit
 ;
records ; writes which records are there
 new first,number
 set (first,number)=""
 for  set number=$order(^record(number)) quit:number=""  do
 . set:first="" first=number
 . set:$get(^record(number))'=$justify(number,20000) number(number)=""
 . quit:$data(^record(number+1))
 . write "records ",first," to ",number,! set first=""
 set number=""
 for  set number=$order(number(number)) quit:number=""  write "another value in ",number,!
 quit
