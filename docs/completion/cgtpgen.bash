# bash completion of cgtpgen(1)

_cgtpgen()
{
    local options='-o --name= --backend= --arch= --emit= --measured= --prune --force --check --list --lint -W --diagnostics=
        --color= --print= -MD -MF -MT -MP --jobs= -d -h --help -V --version'
    local backends='cuda c'
    local archs='sm_80 sm_86 sm_89 sm_90 sm_100 sm_120 c'
    local emit='header hpp source unity plan selftest torch jax tune runtime check ranks device report'
    local print='paths nnz weights plan cost json'
    local warnings='all error empty-product repeated-instruction dead-input dead-filter filter-multiplicity dead-output dead-argument dead-index large-code memory edited-file'
    local word=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]} list='' before=''

    # Words end at =, and it is one itself.
    if [[ $word == = ]]; then
        word=''
    elif [[ $option == = ]]; then
        option=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    COMPREPLY=()
    case $option in
        -o) compopt -o dirnames; return ;;
        -MF | --measured) compopt -o default; return ;;
        -MT | -d | --name | --jobs) return ;;
        --backend) list=$backends ;;
        --arch) list=$archs ;;
        --emit) list=$emit ;;
        --print) list=$print ;;
        -W) list=$warnings ;;
        --diagnostics) list='text json' ;;
        --color) list='auto always never' ;;
    esac
    if [[ $list ]]; then
        if [[ $option == --emit || $option == --print ]] && [[ $word == *,* ]]; then
            before=${word%,*},
        fi
        COMPREPLY=($(compgen -P "$before" -W "$list" -- "${word##*,}"))
    elif [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$word"))
        [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace
    else
        COMPREPLY=($(compgen -f -X '!*.yaml' -- "$word") $(compgen -f -X '!*.yml' -- "$word")
            $(compgen -d -- "$word"))
        compopt -o filenames
    fi
}

complete -F _cgtpgen cgtpgen
